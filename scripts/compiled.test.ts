import { afterAll, expect, test } from 'bun:test'
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = mkdtempSync(join(tmpdir(), 'headgate-compiled-'))
afterAll(() => rmSync(root, { recursive: true }))

interface Compiled {
  compiledPath(): string
  findCompiled(): string | null
}

test('a compiled server is used for exactly the source that it was made of', async () => {
  for (const name of ['compiled.mjs', 'install.mjs', 'compile.ts'])
    cpSync(join('scripts', name), join(root, 'scripts', name))
  for (const folder of ['src/platform', 'node_modules']) mkdirSync(join(root, folder), { recursive: true })
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  for (const path of ['package.json', 'package-lock.json', 'node_modules/.package-lock.json'])
    write(path, '{}')
  write('src/platform/a.ts', 'export const a = 1')
  const { compiledPath, findCompiled }: Compiled = await import(join(root, 'scripts', 'compiled.mjs'))

  const first = compiledPath()
  expect(findCompiled()).toBeNull()
  mkdirSync(join(first, '..'), { recursive: true })
  writeFileSync(first, 'program')
  expect(findCompiled()).toBe(first)
  write('src/platform/a.test.ts', 'a test')
  expect(findCompiled()).toBe(first)

  // Of the same length, and with the time of the old one.
  const { atime, mtime } = statSync(join(root, 'src/platform/a.ts'))
  await Bun.sleep(20)
  write('src/platform/a.ts', 'export const a = 2')
  utimesSync(join(root, 'src/platform/a.ts'), atime, mtime)
  expect(findCompiled()).toBeNull()
  const second = compiledPath()
  write('src/platform/b.ts', '')
  expect(compiledPath()).not.toBe(second)
  const third = compiledPath()
  write('package-lock.json', '{ }')
  expect(compiledPath()).not.toBe(third)
})
