import { expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeJournal } from './node-journal.ts'

const newFolder = () => mkdtempSync(join(tmpdir(), 'headgate-journal-'))
const flushed = Promise.resolve()

/** What a process that starts now finds, without the line that begins each segment. */
function readLeftovers(folder: string) {
  return new NodeJournal(folder)
    .readLeftovers()
    .map(({ segmentId, lines }) => ({ ...segmentId, lines: [...lines].slice(1) }))
    .filter(({ lines }) => lines.length > 0)
}

async function writeSegment(journal: NodeJournal, line: string): Promise<void> {
  journal.append([line])
  await journal.sync()
  const file = journal.close(flushed)
  if (file) await journal.recycle(file)
}

test('R7 a journal that begins after another was taken over is readable from its first line', async () => {
  const folder = newFolder()
  const journal = new NodeJournal(folder)
  const before = journal.id
  for (let count = 0; count < 5; count++) await writeSegment(journal, `note earlier-${count} ["{}"]`)
  journal.rename()
  journal.append(['note later ["{}"]'])
  await journal.sync()
  expect(journal.id).not.toBe(before)
  expect(readLeftovers(folder)).toEqual([{ journal: journal.id, number: 1, lines: ['note later ["{}"]'] }])
})

test('R7 the number of a round without lines is not that of a segment which is written later', async () => {
  const folder = newFolder()
  const journal = new NodeJournal(folder)
  journal.prepare()
  expect(journal.close(flushed)).toBeNull()
  const skipped = journal.skip()
  journal.append(['note one ["{}"]'])
  expect(journal.close(flushed)?.segmentId.number).toBeGreaterThan(skipped)
})

test('a journal that has ended leaves no file', async () => {
  const folder = newFolder()
  const journal = new NodeJournal(folder)
  await writeSegment(journal, 'note one ["{}"]')
  journal.prepare()
  await journal.end()
  expect(new NodeJournal(folder).readLeftovers()).toEqual([])
})
