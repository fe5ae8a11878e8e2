import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeOnEachDatabase } from '../../../test/support/harness.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import type { CommandResult } from '../command.ts'
import { importKeysCommand } from './keys.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-import-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describeOnEachDatabase('keys import', (server) => {
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const run = async (...args: string[]) => {
    const results: CommandResult[] = []
    const command = importKeysCommand(async (work) => void results.push(await work(server().gateway)))
    command.exitOverride().configureOutput({ writeErr: () => undefined })
    await command.parseAsync(args, { from: 'user' })
    return results[0] as CommandResult
  }
  const find = (secret: string) => server().call('GET', `/keys/${sha256(secret)}`)

  test('a CSV file: the plan, then the import, then nothing more to do', async () => {
    const secret = 'sk-Zx81mQv_27bTTpUJw3-LRg'
    const file = write(
      'keys.csv',
      `\ufeffname,secret,workspace,limit,limit_reset,expires_at,tags,spend,disabled
"Search, team A",${secret},${server().own.workspace.slug},50,monthly,2098-01-31T00:00:00Z,team=search;app=web,12.345678901,no

Off,sk-Yx81mQv_27bTTpUJw3-LRg,,,,,,,yes
`,
    )
    const planned = await run(file, '--dry-run')
    expect(planned).toMatchObject({
      text: 'Dry run, nothing was changed: 2 created, 0 existing, 0 rejected.',
    })
    expect((await find(secret)).status).toBe(404)
    expect((await run(file)).text).toBe('2 created, 0 existing, 0 rejected.')
    expect((await find(secret)).body.data).toMatchObject({
      name: 'Search, team A',
      limit: 50,
      limit_reset: 'monthly',
      expires_at: '2098-01-31T00:00:00Z',
      tags: { set: { team: 'search', app: 'web' } },
      usage: 12.345678901,
      usage_monthly: 12.345678901,
      disabled: false,
    })
    expect((await find('sk-Yx81mQv_27bTTpUJw3-LRg')).body.data.disabled).toBe(true)
    const again = await run(file)
    expect(again.text).toBe('0 created, 2 existing, 0 rejected.')
    expect(JSON.stringify([planned, again])).not.toContain(secret)
  })

  test('JSON Lines: what is wrong is named with its line, without its values', async () => {
    const lines = [
      JSON.stringify({ hash: sha256('elsewhere'), name: 'Good' }),
      '{"secret": "sk-leaked',
      JSON.stringify({ secret: 'sk-1234', name: 'Weak' }),
      JSON.stringify({ secret: 'sk leaked', name: 'Space', limit: -1 }),
      JSON.stringify({ hash: sha256('x'), name: 'Unknown field', budget: 5 }),
    ]
    const file = write('keys.jsonl', lines.join('\n'))
    const { text, exitCode, value } = await run(file)
    expect(exitCode).toBe(1)
    expect(text.split('\n')).toEqual([
      'Line 2  (no name): is not JSON',
      expect.stringMatching(/^Line 3 {2}Weak: secret: is weak/),
      expect.stringMatching(/^Line 4 {2}Space: secret: must be printable.*; limit: /),
      expect.stringMatching(/^Line 5 {2}Unknown field: .*budget/),
      '1 created, 0 existing, 4 rejected.',
    ])
    expect(`${text}${JSON.stringify(value)}`).not.toContain('leaked')
    expect((await run(file, '--allow-weak')).text).toContain('1 created, 1 existing, 3 rejected.')
    expect((await server().call('GET', '/key', { key: 'sk-1234' })).status).toBe(200)
  })

  test('a file that is not one says so', async () => {
    expect(run(join(folder, 'none.csv'))).rejects.toThrow('does not exist')
    expect(run(write('empty.jsonl', '\n'))).rejects.toThrow('has no keys')
    expect(run(write('broken.csv', 'name,secret\na,"b\n'))).rejects.toThrow('is not CSV')
  })
})
