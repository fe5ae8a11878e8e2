import { afterAll, beforeEach, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeVersion, readCommit } from './build.ts'
import { version } from './version.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-git-'))
const url = pathToFileURL(`${folder}/`)
const [commit, other] = ['a'.repeat(40), 'b'.repeat(40)]
const write = (name: string, text: string) => writeFileSync(join(folder, name), text)

beforeEach(() => {
  rmSync(folder, { recursive: true })
  mkdirSync(join(folder, 'refs/heads'), { recursive: true })
})
afterAll(() => rmSync(folder, { recursive: true }))

test('the commit of a clone is that of its branch', () => {
  write('HEAD', 'ref: refs/heads/main\n')
  write('refs/heads/main', `${commit}\n`)
  write('packed-refs', `${other} refs/heads/main\n`)
  expect(readCommit(url)).toBe(commit)
})

test('a branch may be packed', () => {
  write('HEAD', 'ref: refs/heads/main\n')
  write(
    'packed-refs',
    `# pack-refs with: peeled\n${other} refs/heads/not/refs/heads/main2\n${commit} refs/heads/main\n`,
  )
  expect(readCommit(url)).toBe(commit)
})

test('a tag that is checked out is no branch', () => {
  write('HEAD', `${commit}\n`)
  expect(readCommit(url)).toBe(commit)
})

test('without a clone the commit is not known', () => {
  expect(readCommit(url)).toBeNull()
  write('HEAD', 'ref: refs/heads/main\n')
  expect(readCommit(url)).toBeNull()
})

test('the version for people begins with the version alone, and names the runtime', () => {
  expect(describeVersion()).toStartWith(`${version} (`)
  expect(describeVersion()).toContain(`Bun ${Bun.version}`)
})
