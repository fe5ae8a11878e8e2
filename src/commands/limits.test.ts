import { expect, test } from 'bun:test'
import type { Command } from 'commander'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import type { CommandResult, CommandRunner } from './command.ts'
import { limitsCommand } from './limits.ts'
import { tiersCommand } from './tiers.ts'

describeOnEachDatabase('limits and tiers on the command line', (server) => {
  const run = async (create: (run: CommandRunner) => Command, ...args: string[]) => {
    const results: CommandResult[] = []
    const command = create(async (work) => void results.push(await work(server().gateway)))
    for (const each of [command, ...command.commands])
      each.exitOverride().configureOutput({ writeErr: () => undefined })
    await command.parseAsync(args, { from: 'user' })
    return results[0] as CommandResult
  }
  const create = (...args: string[]) => run(limitsCommand, 'create', '--name', 'Spend', ...args)

  test('a limit names what it counts; it is listed, in force and deleted', async () => {
    const { own, call } = server()
    await run(tiersCommand, 'create', '--name', 'free', '--default')
    const key = (await call('POST', '/keys', { body: { name: 'app' } })).body.data
    expect(key.tier).toBe('free')
    const size = ['--measure', 'usd', '--window', 'day', '--amount', '2.5', '--include-byok']
    const match = ['--workspace', own.workspace.slug, '--key', key.hash.slice(0, 12), '--tier', 'free']
    const lists = ['--tags', 'project=apollo', '--models', 'openai/*,acme/one', '--per', 'end_user,model']
    const { value, text } = await create(...size, ...match, ...lists)
    const { id } = value as { id: string }
    expect(text).toContain('2.5 usd per day')
    expect(text).toContain('models=openai/*,acme/one, for each end_user and model')
    const { data } = (await call('GET', `/limits/${id}`)).body
    expect(data).toEqual(value)
    expect(data).toMatchObject({
      ...{ amount: 2.5, include_byok: true, enabled: true, per: ['end_user', 'model'] },
      match: { workspace_id: own.workspace.id, key_hash: key.hash, tags: ['project=apollo'], user_id: null },
    })
    expect((await run(limitsCommand, 'list')).text).toContain(`${id}  Spend  2.5 usd per day, workspace_id=`)
    expect((await run(limitsCommand, 'delete', id)).text).toBe('Deleted Spend.')
    expect((await call('GET', `/limits/${id}`)).status).toBe(404)
    await expect(run(limitsCommand, 'delete', id)).rejects.toThrow('Run "limits list" to see the ids.')
  })

  test('what is not valid is named', async () => {
    const requests = ['--measure', 'requests', '--window', 'day']
    await expect(create('--measure', 'requests', '--amount', '5')).rejects.toThrow('window: is required')
    await expect(create(...requests, '--amount', '1.5')).rejects.toThrow('amount: must be a whole number')
    await expect(create(...requests, '--amount', '5', '--tags', 'a b=1')).rejects.toThrow('match.tags')
    await expect(create(...requests, '--amount', '5', '--per', 'planet')).rejects.toThrow('per')
    await expect(create(...requests, '--amount', '5', '--tier', 'gold')).rejects.toThrow('is not a tier')
    await expect(create(...requests, '--amount', '5', '--member', 'a@b.test')).rejects.toThrow('--member')
    await expect(create(...requests, '--amount', '5', '--key', 'ffffffff')).rejects.toThrow('keys list')
    await expect(run(tiersCommand, 'create', '--name', 'Not A Name')).rejects.toThrow('name: must be')
    await expect(run(tiersCommand, 'delete', 'gold')).rejects.toThrow('The tier does not exist.')
  })

  test('a tier is listed, and deleted with its limits', async () => {
    const { foreign } = server()
    const org = ['--org', foreign.organization.id]
    expect((await run(tiersCommand, 'list', ...org)).text).toBe('No tiers.')
    expect((await run(limitsCommand, 'list', ...org)).text).toBe('No limits.')
    await run(tiersCommand, 'create', '--name', 'gold', '--description', 'Customers who pay', ...org)
    await create(
      '--measure',
      'concurrent_requests',
      '--amount',
      '8',
      '--tier',
      'gold',
      '--per',
      'key',
      ...org,
    )
    expect((await run(tiersCommand, 'list', ...org)).text).toBe('gold  Customers who pay')
    expect((await run(tiersCommand, 'delete', 'gold', ...org)).value).toEqual({ deleted: 'gold' })
    expect((await run(limitsCommand, 'list', ...org)).value).toEqual([])
  })
})
