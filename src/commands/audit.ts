import { Command, InvalidArgumentError } from 'commander'
import type { Gateway } from '../app/gateway.ts'
import { type ChainReport, type ExpectedHead, verifyChains } from '../audit/verify.ts'
import { type CommandResult, type CommandRunner, UsageError } from './command.ts'
import { ProgressLine } from './progress.ts'

interface CheckOptions {
  expect: ExpectedHead[]
}

export function checkAuditCommand(run: CommandRunner): Command {
  return new Command('check-audit')
    .description('verify every chain of the audit log and print its head (safe while the server runs)')
    .option(
      '--expect <chain:seq:hash>',
      'a head that an earlier run printed: it must still be part of its chain; repeatable',
      collectHead,
      [],
    )
    .action((options: CheckOptions) => run((gateway) => runCheck(gateway, options)))
}

/** Exit code 1 when a chain is broken. */
async function runCheck(gateway: Gateway, { expect }: CheckOptions): Promise<CommandResult> {
  const progress = new ProgressLine('entries verified')
  const reports: ChainReport[] = []
  for await (const report of verifyChains(gateway, expect, (count) => progress.update(count)))
    reports.push(report)
  progress.end()
  const lines = reports.map(formatReport)
  const isSound = reports.every(({ problem }) => problem === null)
  if (!isSound) throw new UsageError(`The audit log is broken.\n${lines.join('\n')}`)
  return {
    value: { sound: isSound, chains: reports },
    text: ['The audit log is complete.', ...lines].join('\n'),
  }
}

function formatReport({ chain_id, seq, hash, first_seq, entries, problem }: ChainReport): string {
  if (problem !== null) return `  WRONG ${chain_id}: ${problem}`
  const since = first_seq > 1 ? `, from ${first_seq}` : ''
  return `  ok    ${chain_id}:${seq}:${hash} (${entries} entries${since})`
}

function collectHead(text: string, previous: ExpectedHead[]): ExpectedHead[] {
  const [, chain_id, seq, hash] = /^([^:]{1,100}):(\d{1,9}):([\w-]{43})$/.exec(text) ?? []
  if (!chain_id || !seq || !hash)
    throw new InvalidArgumentError('It must be chain:seq:hash, as check-audit prints it.')
  return [...previous, { chain_id, seq: Number(seq), hash }]
}
