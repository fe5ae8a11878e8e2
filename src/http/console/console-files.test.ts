import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConsoleFiles } from './console-files.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-console-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'secret'), 'secret')
})
afterAll(() => rmSync(folder, { recursive: true }))

test('a console that is not built has no manifest and no assets; once built, it has', async () => {
  const files = new ConsoleFiles(folder)
  expect(await files.readManifest()).toBeNull()
  expect(await files.findAsset('main-1.js', '')).toBeUndefined()
  const file = { type: 'text/javascript', encodings: ['br', 'gzip'] }
  const manifest = { script: 'main-1.js', styles: [], files: { 'main-1.js': file } }
  for (const [suffix, text] of [
    ['', 'plain'],
    ['.br', 'brotli'],
    ['.gz', 'gzip'],
  ])
    writeFileSync(join(folder, 'assets', `main-1.js${suffix}`), text ?? '')
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
  expect((await files.findAsset('main-1.js', ''))?.headers.get('content-type')).toBe('text/javascript')
})

test.each([
  ['gzip, deflate, br', 'br', 'brotli'],
  ['gzip;q=0.5', 'gzip', 'gzip'],
  ['br;q=0, gzip', 'gzip', 'gzip'],
  ['identity', null, 'plain'],
  ['', null, 'plain'],
])('a browser that accepts %j gets %p', async (accepted, encoding, text) => {
  const response = await new ConsoleFiles(folder).findAsset('main-1.js', accepted)
  expect(response?.headers.get('content-encoding')).toBe(encoding)
  expect(response?.headers.get('cache-control')).toContain('immutable')
  expect(await response?.text()).toBe(text)
})

test.each(['../secret', '..%2fsecret', 'main-1.js.br', '__proto__', 'constructor', ''])(
  'S5 %j is no file of the console',
  async (name) => {
    expect(await new ConsoleFiles(folder).findAsset(name, 'br')).toBeUndefined()
  },
)
