import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

interface Options {
  words: string[]
  repeat: number
  changed?: string
  seed?: number | null
  pattern?: string
}
interface Outcome {
  passed: number
  failed: number
  skipped: number
  files: string[]
}

const load = (name: string) => import(join(import.meta.dir, `${name}.mjs`))
const { readArguments }: { readArguments(args: string[]): Options } = await load('arguments')
const { Results, findInterruption, repeatCommand }: ResultsModule = await load('results')
const { ImportGraph }: GraphModule = await load('imports')
const { writeMixed, writeShuffled, readTimings }: OrderModule = await load('order')
const { Progress }: ProgressModule = await load('progress')

interface RunResults {
  breaks: Set<string>
  add(chunk: string): void
  end(file: string): void
  finish(status: number): Outcome
}
interface Interruption {
  first: string
  files: string[]
  combine(second: Outcome): Outcome
}
interface ResultsModule {
  Results: new (show: (text: string) => void) => RunResults
  findInterruption(results: RunResults, outcome: Outcome): Interruption | null
  repeatCommand(file: string, name: string): string
}
interface GraphModule {
  ImportGraph: new (
    root: string,
  ) => {
    testFiles: string[]
    needs(test: string, module: string): boolean
    findAffected(files: string[]): string[]
  }
}
interface OrderModule {
  writeShuffled(path: string, files: string[], seed: number): void
  writeMixed(
    path: string,
    files: string[],
    timings: Record<string, number>,
    waits: (file: string) => boolean,
  ): void
  readTimings(path: string): Record<string, number>
}
interface ProgressModule {
  Progress: new (
    path: string,
    files: string[],
    timings: Record<string, number>,
  ) => {
    read(): string[]
    processOf(file: string): number | undefined
    describe(failed: number): string
    listSlowest(count: number): [string, { ms: number; cpuMs: number }][]
  }
}

const folder = mkdtempSync(join(tmpdir(), 'headgate-runner-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('the arguments of npm test', () => {
  test('are words, and flags with or without a value', () => {
    expect(readArguments([])).toEqual({ words: [], repeat: 1 })
    expect(readArguments(['test/tools', 'keys'])).toEqual({ words: ['test/tools', 'keys'], repeat: 1 })
    expect(readArguments(['--changed'])).toMatchObject({ changed: 'HEAD' })
    expect(readArguments(['--changed', 'main', '--shuffle'])).toMatchObject({ changed: 'main', seed: null })
    expect(readArguments(['--repeat', '5', '--shuffle=7'])).toMatchObject({ repeat: 5, seed: 7 })
    expect(readArguments(['a.test.ts', '-t', 'a name'])).toMatchObject({
      words: ['a.test.ts'],
      pattern: 'a name',
    })
  })

  test('that are unknown or no count are refused, with a list of all', () => {
    expect(() => readArguments(['--quick'])).toThrow(/Unknown: --quick[\s\S]*--changed/)
    expect(() => readArguments(['--repeat', 'x'])).toThrow('x is not a whole number')
    expect(() => readArguments(['--repeat'])).toThrow('--repeat needs a value')
  })
})

describe('the output of bun test', () => {
  const output = `bun test v1.4.4
src/a.test.ts:
(pass) A > works [1.00ms]
a line of a test that works
src/b.test.ts:
(fail) B > breaks (x) [2.00ms]
src/a.test.ts:
(skip) A > needs a browser
src/b.test.ts:
error: expected 1
src/c.test.ts:

# Unhandled error between tests
error: boom

1 tests failed:
(fail) B > breaks (x) [2.00ms]

 1 pass
 1 skip
 1 fail
 1 error
`

  test('is shown as far as it is about what failed, with a command that repeats it', () => {
    let shown = ''
    const results = new Results((text) => (shown += text))
    // Chunks end anywhere.
    for (const part of output.match(/[\s\S]{1,7}/g) ?? []) results.add(part)
    results.end('src/a.test.ts')
    expect(results.finish(1)).toEqual({
      passed: 1,
      failed: 2,
      skipped: 1,
      files: ['src/b.test.ts', 'src/c.test.ts'],
    })
    expect(shown).toContain(
      `FAILED src/b.test.ts: B > breaks (x)\n  ${repeatCommand('src/b.test.ts', 'B > breaks (x)')}`,
    )
    expect(shown).toContain('error: expected 1')
    expect(shown).toContain('error: boom')
    expect(shown).not.toContain('a line of a test that works')
  })

  test('names the file that broke its process, and what failed since runs again', () => {
    const results = new Results(() => undefined)
    results.add(`src/a.test.ts:
(fail) A > fails by itself [1.00ms]
(pass) A > works
src/b.test.ts:

# Unhandled error between tests
error: boom
src/c.test.ts:
(fail) C > imports what b left half loaded [1.00ms]
(pass) C > works
✗ src/d.test.ts (worker crashed: SIGKILL)
src/e.test.ts:
(pass) E > works

 3 pass
 4 fail
 1 error
`)
    const outcome = results.finish(1)
    expect([...results.breaks]).toEqual(['src/b.test.ts', 'src/d.test.ts'])
    const interruption = findInterruption(results, outcome)
    expect(interruption).toMatchObject({
      first: 'src/b.test.ts',
      files: ['src/b.test.ts', 'src/c.test.ts', 'src/d.test.ts'],
    })
    // The error remains a failure where all pass now.
    expect(interruption?.combine({ passed: 9, failed: 0, skipped: 1, files: [] })).toEqual({
      passed: 11,
      failed: 2,
      skipped: 1,
      files: ['src/b.test.ts', 'src/a.test.ts'],
    })
    const second = { passed: 8, failed: 3, skipped: 0, files: ['src/c.test.ts'] }
    expect(interruption?.combine(second)).toMatchObject({ passed: 10, failed: 4 })
  })

  test('without such a file leaves nothing to run again', () => {
    const results = new Results(() => undefined)
    results.add('src/a.test.ts:\n(fail) A > fails by itself [1.00ms]\n\n 0 pass\n 1 fail\n')
    expect(findInterruption(results, results.finish(1))).toBeNull()
  })

  test('of a run that crashed, or had no test, is a failure', () => {
    expect(new Results(() => undefined).finish(0).failed).toBe(1)
    const crashed = new Results(() => undefined)
    crashed.add(' 4 pass\n 0 fail\n')
    expect(crashed.finish(134).failed).toBe(1)
  })

  test('names tests so that a pattern finds them', () => {
    const [, pattern = ''] = /-t '(.*)'$/.exec(repeatCommand('a.test.ts', 'A > b > c (1.5)')) ?? []
    expect('A b c (1.5)').toMatch(new RegExp(pattern))
    expect('A b > c (1.5)').toMatch(new RegExp(pattern))
    expect('A b c (125)').not.toMatch(new RegExp(pattern))
  })
})

describe('what a change affects', () => {
  const write = (file: string, text = '') => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  for (const name of ['test', 'scripts', 'bench', 'console/src'])
    mkdirSync(join(folder, name), { recursive: true })
  const addresses = { chat: ['/api/v1/chat/completions'], keys: ['/api/v1/keys', '/api/v1/keys/{hash}'] }
  write('src/api/addresses.json', JSON.stringify({ operations: addresses }))
  write(
    'src/api/all.ts',
    "const areas = {\n  chat: async () => (await import('./inference/chat/operations.ts')).chat,\n  keys: async () => (await import('./identity/keys/operations.ts')).keys,\n}",
  )
  write('src/api/identity/keys/operations.ts', "import {\n  find,\n} from './store.ts'")
  write('src/api/identity/keys/store.ts')
  write('src/api/identity/keys/keys.test.ts', "import { start } from '../../../../test/support/harness.ts'")
  write('src/api/inference/chat/operations.ts', "import { infer } from '../../../pipeline.ts'")
  write('src/pipeline.ts', "import type { Id } from './id.ts'\nexport { work } from './work.ts'")
  write('src/id.ts')
  write('src/work.ts', "new Worker(new URL('./thread.ts', import.meta.url))")
  write('src/thread.ts')
  write('src/main.ts', "import { areas } from './api/all.ts'\nimport './database.ts'")
  write('src/database.ts')
  write('test/support/harness.ts', "import '../../src/main.ts'")
  write('test/chat.test.ts', "import { start } from './support/harness.ts'\ncall('/chat/completions')")
  write('test/openapi.test.ts', "import { areas } from '../src/api/all.ts'")
  write('test/browser/console.test.ts', "import { start } from '../support/harness.ts'")
  write('test/documents.test.ts', "readdirSync('docs')")
  const graph = new ImportGraph(folder)

  test.each([
    [
      'a module of an area',
      'src/api/identity/keys/store.ts',
      ['src/api/identity/keys/keys.test.ts', 'test/openapi.test.ts'],
    ],
    [
      'what every server loads',
      'src/database.ts',
      ['src/api/identity/keys/keys.test.ts', 'test/browser/console.test.ts', 'test/chat.test.ts'],
    ],
    ['what requests to an address use', 'src/thread.ts', ['test/chat.test.ts', 'test/openapi.test.ts']],
    ['a screen', 'console/src/keys.tsx', ['test/browser/console.test.ts']],
    ['a type', 'src/id.ts', []],
    ['a test', 'test/chat.test.ts', ['test/chat.test.ts']],
    ['a document', 'docs/keys.md', ['test/documents.test.ts']],
    ['what no test reads', 'LICENSE', []],
  ])('%s', (_, file, tests) => {
    expect(graph.findAffected([file]).sort()).toEqual(tests)
  })

  test('a test needs what it imports, also through others', () => {
    expect(graph.needs('test/chat.test.ts', 'src/database.ts')).toBe(true)
    expect(graph.needs('test/openapi.test.ts', 'src/database.ts')).toBe(false)
  })
})

test('a seed always leads to the same order, and another seed to another', () => {
  const files = Array.from({ length: 20 }, (_, index) => `test/${index}.test.ts`)
  const order = (seed: number) => {
    const path = join(folder, 'timings.json')
    writeShuffled(path, files, seed)
    const times = readTimings(path)
    return files.toSorted((a, b) => times[b]! - times[a]!)
  }
  expect(order(1)).toEqual(order(1))
  expect(order(1)).not.toEqual(order(2))
})

test('files that wait are spread among those that compute, the longest of each kind first', () => {
  const path = join(folder, 'timings.json')
  const timings = { wait1: 40, wait2: 60, compute1: 10, compute2: 20, compute3: 30, compute4: 40 }
  const files = [...Object.keys(timings), 'compute-new']
  writeMixed(path, files, timings, (file) => file.startsWith('wait'))
  const times = readTimings(path)
  const order = files.toSorted((a, b) => times[b]! - times[a]!)
  expect(order).toEqual(['wait2', 'compute4', 'compute3', 'wait1', 'compute2', 'compute1', 'compute-new'])
})

test('progress: files that ended and run, and the slowest', () => {
  const path = join(folder, 'file-times')
  writeFileSync(path, 'start 1000 10 7 a.test.ts\nstart 1500 5 8 b.test.ts\nend 4000 250 7 a.test.ts\nend 40')
  const progress = new Progress(path, ['a.test.ts', 'b.test.ts', 'c.test.ts'], {})
  expect(progress.read()).toEqual(['a.test.ts'])
  expect(progress.describe(2)).toBe('1 of 3 files; 2 failed; running b.test.ts')
  expect(['a', 'b', 'c'].map((name) => progress.processOf(`${name}.test.ts`))).toEqual([7, 8, undefined])
  writeFileSync(path, '00 20 8 b.test.ts\n', { flag: 'a' })
  expect(progress.read()).toEqual(['b.test.ts'])
  expect(progress.listSlowest(1)).toEqual([['a.test.ts', { ms: 3000, cpuMs: 240 }]])
})
