import { expect, test } from 'bun:test'
import { insertGeneration } from '../../test/support/generations.ts'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import type { CommandResult } from './command.ts'
import { routingRulesCommand } from './routing-rules.ts'

describeOnEachDatabase('routing rules on the command line', (server) => {
  const run = async (...args: string[]) => {
    const results: CommandResult[] = []
    const command = routingRulesCommand(async (work) => void results.push(await work(server().gateway)))
    for (const each of [command, ...command.commands])
      each.exitOverride().configureOutput({ writeErr: () => undefined })
    await command.parseAsync(args, { from: 'user' })
    return results[0] as CommandResult
  }
  const condition = `tags.team == 'search'`
  const action = '{"models": ["sandbox/reasoner"]}'

  test('a rule is tried, created, listed, in force and deleted', async () => {
    const { gateway, own, call } = server()
    await insertGeneration(gateway, own, { tags: 'team=search', requested_model: 'acme/big' })
    const tried = await run('dry-run', '--when', condition, '--then', action, '--days', '1')
    expect(tried.text).toBe(
      '1 requests examined: 1 matched, 0 of them rejected, 0 undecided.\nThe rule: 1 matched, 0 undecided, 0 failed\nacme/big -> sandbox/reasoner: 1',
    )
    const place = ['--workspace', own.workspace.slug, '--position', '7']
    const created = await run('create', '--name', 'Search', '--when', condition, '--then', action, ...place)
    const { id } = created.value as { id: string }
    expect((await call('GET', `/routing-rules/${id}`)).body.data).toEqual(created.value)
    expect(created.value).toMatchObject({ position: 7, enabled: true, workspace_id: own.workspace.id })
    expect((await run('list')).text).toContain(`${id}  Search: when ${condition} then`)
    expect((await run('dry-run')).text).toContain('Search: 1 matched')
    expect((await run('delete', id)).text).toBe('Deleted Search.')
    expect((await run('list')).text).toBe('No routing rules.')
    await expect(run('delete', id)).rejects.toThrow('Run "routing-rules list" to see the ids.')
  })

  test('what is not valid is named', async () => {
    const create = (when: string, then: string) =>
      run('create', '--name', 'Rule', '--when', when, '--then', then)
    await expect(create('model', action)).rejects.toThrow('when: expected true or false')
    await expect(create('true', '{}')).rejects.toThrow('then: must have models')
    await expect(create('true', 'models')).rejects.toThrow('It must be JSON')
    await expect(create('true', '{"models": ["nobody/knows"]}')).rejects.toThrow('then.models.0')
    await expect(run('dry-run', '--when', 'true')).rejects.toThrow('--when and --then belong together')
    await expect(run('dry-run', '--days', '31')).rejects.toThrow('between 1 and 30')
  })
})
