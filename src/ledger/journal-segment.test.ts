import { afterAll, beforeEach, expect, spyOn, test } from 'bun:test'
import * as fs from 'node:fs'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SegmentFile } from './journal-segment.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-segment-'))
const syncing = spyOn(fs, 'fdatasync')
afterAll(() => {
  syncing.mockRestore()
  rmSync(folder, { recursive: true })
})
beforeEach(() => syncing.mockClear())

let count = 0
function newSegment(syncIntervalMs: number): SegmentFile {
  const file = new SegmentFile(join(folder, `segment-${++count}`), undefined, syncIntervalMs)
  file.begin({ journal: 'journal', number: 1 }, Promise.resolve(), 0)
  return file
}

test('a sync begins at once, and what is appended before the next may begin shares that', async () => {
  const file = newSegment(60_000)
  file.append(['note gen-1 ["{}"]'])
  await file.sync()
  expect(syncing).toHaveBeenCalledTimes(1)
  file.append(['note gen-2 ["{}"]'])
  const next = file.sync()
  await new Promise(setImmediate)
  file.append(['note gen-3 ["{}"]'])
  expect(file.sync()).toBe(next)
  expect(syncing).toHaveBeenCalledTimes(1)
})

test('R7 what is appended while a sync is in progress is on disk after the next', async () => {
  const file = newSegment(0)
  const order: string[] = []
  file.append(['note gen-1 ["{}"]'])
  const first = file.sync().then(() => order.push('first'))
  file.append(['note gen-2 ["{}"]'])
  const second = file.sync().then(() => order.push('second'))
  await Promise.all([first, second])
  expect(order).toEqual(['first', 'second'])
  expect(syncing).toHaveBeenCalledTimes(2)
  await file.waitUntilIdle()
})

test('R7 a sync that fails does not keep the next from beginning', async () => {
  const file = newSegment(0)
  file.append(['note gen-1 ["{}"]'])
  syncing.mockImplementationOnce(((_file: number, done: (error: Error) => void) =>
    done(new Error('EIO'))) as typeof fs.fdatasync)
  const failing = file.sync()
  const next = file.sync()
  await expect(failing).rejects.toThrow('EIO')
  await next
  expect(syncing).toHaveBeenCalledTimes(2)
})
