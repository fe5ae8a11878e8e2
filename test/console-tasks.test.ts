import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

function read(path: string): string {
  return readFileSync(join(import.meta.dir, path), 'utf8')
}

test('docs/console.md has the clicks of the daily tasks that the tests count', () => {
  const tests = ['requests', 'settings'].map((part) => read(`browser/console-tasks-${part}.test.ts`)).join('')
  const counted = [...tests.matchAll(/^ {2}task\('(.+)', (\d+), /gm)].map(
    ([, name, clicks]) => `${name}: ${clicks}`,
  )
  const [, section = ''] = read('../docs/console.md').split('## Daily tasks\n')
  const [table = ''] = section.split('\n## ')
  const documented = [...table.matchAll(/^\| (.+?) \| (\d+) \| /gm)].map(
    ([, name, clicks]) => `${name}: ${clicks}`,
  )
  expect(documented).toEqual(counted)
  expect(counted).toHaveLength(12)
})
