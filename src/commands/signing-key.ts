import { Command } from 'commander'
import type { Gateway } from '../gateway/gateway.ts'
import { rotateSigningKey } from '../identity/signing-keys.ts'
import { type CommandResult, type CommandRunner, transactAsCommand } from './command.ts'

interface RotateOptions {
  revoke?: boolean
}

export function signingKeyCommand(run: CommandRunner): Command {
  const signingKey = new Command('signing-key').description('manage the key that signs access tokens')
  signingKey
    .command('rotate')
    .description('sign with a new key; tokens of the previous one stay valid until they expire')
    .option('--revoke', 'end the tokens of all previous keys at once')
    .action((options: RotateOptions) => run((gateway) => runRotate(gateway, options)))
  return signingKey
}

async function runRotate(gateway: Gateway, { revoke = false }: RotateOptions): Promise<CommandResult> {
  const { kid } = await transactAsCommand(gateway, null, async (tx, record) => {
    const key = await rotateSigningKey(tx, gateway, { revoke })
    record({
      action: 'signing_key.rotate',
      target: { type: 'signing_key', id: key.kid },
      details: { revoke },
    })
    return key
  })
  return { value: { kid, revoked: revoke }, text: `Access tokens are now signed with the key ${kid}.` }
}
