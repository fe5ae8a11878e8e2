import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import type { CommandResult } from './command.ts'
import { shadowCommand } from './shadow.ts'

describeOnEachDatabase('shadows on the command line', (server) => {
  const run = async (...args: string[]) => {
    const results: CommandResult[] = []
    const command = shadowCommand(async (work) => void results.push(await work(server().gateway)))
    for (const each of [command, ...command.commands])
      each.exitOverride().configureOutput({ writeErr: () => undefined })
    await command.parseAsync(args, { from: 'user' })
    return results[0] as CommandResult
  }
  const messages = [{ role: 'user', content: 'Hello' }]

  test('a file is replayed, and reported', async () => {
    const { url, own } = server()
    const created = await run(
      'create',
      '--name',
      'Replay',
      '--daily-usd',
      '1',
      '--target-model',
      'sandbox/echo',
    )
    const { id } = created.value as { id: string }
    expect((await run('list')).text).toBe(`${id}  Replay: 0% of the requests, 1 USD a day`)
    const reply = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
    }
    const record = {
      ...{ call_type: 'acompletion', status: 'success', startTime: 1, endTime: 2, model: 'gpt-4o' },
      ...{ messages, response: reply },
    }
    const lines = [
      ...Array.from({ length: 30 }, (_, index) => ({
        id: `r${index}`,
        request: { model: 'gpt-4o', messages },
        reply,
      })),
      record,
      { ...record, call_type: 'aembedding' },
    ]
    const folder = mkdtempSync(join(tmpdir(), 'headgate-shadow-'))
    const file = join(folder, 'requests.jsonl')
    writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\nnot JSON\n`)
    const options = ['--key', own.managementKey, '--against', url]
    const replayed = await run('replay', id, file, ...options)
    expect(replayed.value).toEqual({ lines: 33, accepted: 31, skipped: { invalid: 2 } })
    await waitUntil(async () => (await run('report', id)).text.startsWith('31 requests compared'))
    const { text } = await run('report', id)
    expect(text).toContain('31 requests compared: 31 without a difference.')
    expect(text).toContain('skipped, invalid: 1')
    expect((await run('replay', id, file, ...options, '--limit', '2')).value).toMatchObject({ accepted: 2 })
    await expect(run('replay', id, join(folder, 'none'), ...options)).rejects.toThrow('does not exist')
    await expect(run('replay', id, file, '--key', 'sk-wrong', '--against', url)).rejects.toThrow()
    rmSync(folder, { recursive: true })
    await server().gateway.mirrors.idle()
    expect((await run('delete', id)).text).toBe('Deleted Replay.')
    await expect(run('report', id)).rejects.toThrow('Run "shadow list" to see the ids.')
  })
})
