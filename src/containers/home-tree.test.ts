import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHomeFile, streamFile } from './home-file.ts'
import { HomeReader } from './home-reader.ts'
import { listHomeFiles, measureHome } from './home-tree.ts'

const root = mkdtempSync(join(tmpdir(), 'headgate-tree-'))
const home = join(root, 'home')
const unreadable = Buffer.concat([Buffer.from(`${home}/bad`), Buffer.from([0xff, 0xfe])])

beforeAll(() => {
  mkdirSync(join(home, 'a/b'), { recursive: true })
  mkdirSync(join(root, 'outside'))
  writeFileSync(join(root, 'outside/secret'), 'x'.repeat(100_000))
  writeFileSync(join(home, 'a/b/file'), 'content')
  writeFileSync(unreadable, 'x'.repeat(10_000))
  symlinkSync(join(root, 'outside'), join(home, 'out'))
})
afterAll(() => rmSync(root, { recursive: true }))

test.skipIf(process.platform !== 'linux')(
  'links are not followed, and names that are not UTF-8 count',
  () => {
    expect(listHomeFiles(home, 100).map(({ path }) => path)).toEqual(['a/b/file'])
    const { bytes, entries } = measureHome(home, 100)
    expect(entries).toBe(5)
    expect(bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(100_000)
  },
)

test.skipIf(process.platform !== 'linux')(
  'a tree with more entries than are counted, or too deep, has too many',
  () => {
    expect(measureHome(home, 4).entries).toBe(Number.MAX_SAFE_INTEGER)
    const deep = join(root, 'deep')
    mkdirSync(join(deep, 'd/'.repeat(70)), { recursive: true })
    expect(measureHome(deep, 1000).entries).toBe(Number.MAX_SAFE_INTEGER)
  },
)

test.skipIf(process.platform !== 'linux' || process.getuid?.() === 0)(
  'what its owner has made unreadable cannot be hidden from the count',
  () => {
    for (const mode of [0o000, 0o444, 0o111]) {
      const locked = join(root, `locked-${mode}`)
      mkdirSync(join(locked, 'folder'), { recursive: true })
      writeFileSync(join(locked, 'folder/file'), 'x')
      chmodSync(join(locked, 'folder'), mode)
      expect(measureHome(locked, 100).entries).toBe(Number.MAX_SAFE_INTEGER)
      chmodSync(join(locked, 'folder'), 0o755)
    }
  },
)

test.skipIf(process.platform !== 'linux')(
  'a folder that is replaced by a link all the time never leads out',
  async () => {
    const racing = join(root, 'racing')
    mkdirSync(racing)
    const script = 'while :; do mkdir d; touch d/inside; rm -r d; ln -s ../outside d; rm d; done'
    const racer = Bun.spawn(['bash', '-c', script], { cwd: racing, stdio: ['ignore', 'ignore', 'ignore'] })
    try {
      for (let round = 0; round < 300; round++) {
        const paths = listHomeFiles(racing, 100).map(({ path }) => path)
        expect(paths.filter((path) => path !== 'd/inside')).toEqual([])
        const opened = await openHomeFile(racing, 'd/secret')
        await opened?.close()
        expect(opened).toBeNull()
      }
    } finally {
      racer.kill('SIGKILL')
      await racer.exited
    }
  },
)

test.skipIf(process.platform !== 'linux')(
  'a file is read up to its size, and one that became shorter fails',
  async () => {
    const read = async (size: number) => {
      const file = await openHomeFile(home, 'a/b/file')
      if (!file) throw new Error('missing')
      return new Response(streamFile(file, size)).text()
    }
    expect(await read(7)).toBe('content')
    expect(await read(3)).toBe('con')
    expect(read(8)).rejects.toThrow('shorter')
  },
)

test.skipIf(process.platform !== 'linux')(
  'the thread measures the memory of a process and those below it',
  async () => {
    const reader = new HomeReader()
    const script = '(x=$(head -c 20000000 /dev/zero | tr "\\0" a); echo ready; read -r); true'
    const child = Bun.spawn(['bash', '-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
    try {
      await child.stdout.getReader().read()
      expect(await reader.measureMemory(child.pid)).toBeGreaterThan(20_000_000)
    } finally {
      child.stdin.end()
      await child.exited
      reader.close()
    }
  },
)
