import { afterEach, expect, test } from 'bun:test'
import { buildPdf } from '../../../test/support/pdf.ts'
import { computeGrowth } from '../../platform/concurrency/fair-thread.ts'
import { PdfReader } from './pdf-reader.ts'

const readers: PdfReader[] = []
afterEach(() => {
  for (const reader of readers.splice(0)) reader.stop()
})

function open(limits: ConstructorParameters<typeof PdfReader>[0] = {}): PdfReader {
  const reader = new PdfReader(limits)
  readers.push(reader)
  return reader
}

const quotaOf = (owner: string, milliseconds = 10_000) => ({ owner, milliseconds })
const base64 = (lines: string[]) => buildPdf(lines).toString('base64')

test('the text of all pages', async () => {
  const read = await open().read(base64(['The first page', 'The second page']), quotaOf('a'))
  expect(read).toEqual({
    text: expect.stringMatching(/^The first page\s+The second page\s+$/),
    isComplete: true,
  })
})

test('the pages of a document are counted, whether or not it has text', async () => {
  const reader = open()
  expect(await reader.countPages(base64(['', 'two', '']), quotaOf('a'))).toBe(3)
  expect(await reader.countPages(Buffer.from('%PDF-1.4 broken').toString('base64'), quotaOf('a'))).toBeNull()
  expect(await open({ data: 10 }).countPages(base64(['x']), quotaOf('a'))).toBeNull()
})

test('a document that cannot be read is null, and does not affect the next', async () => {
  const reader = open()
  const [broken, empty, large, whole] = await Promise.all([
    reader.read(Buffer.from('%PDF-1.4 broken').toString('base64'), quotaOf('a')),
    reader.read(base64(['']), quotaOf('a')),
    open({ data: 10 }).read(base64(['x']), quotaOf('a')),
    reader.read(base64(['readable']), quotaOf('a')),
  ])
  expect([broken, empty, large]).toEqual([null, null, null])
  expect(whole?.text.trim()).toBe('readable')
})

test('only so many pages and characters are read, and the result says so', async () => {
  const pages = await open({ pages: 1 }).read(base64(['one', 'two']), quotaOf('a'))
  expect([pages?.text.trim(), pages?.isComplete]).toEqual(['one', false])
  const characters = await open({ characters: 4 }).read(base64(['12345678']), quotaOf('a'))
  expect(characters).toEqual({ text: '1234', isComplete: false })
})

test('a document that takes too long is null, and nothing waits for it', async () => {
  const slow = open({ milliseconds: 0 })
  expect(await slow.read(base64(['x']), quotaOf('a'))).toBeNull()
  expect(await slow.read(base64(['x']), quotaOf('a'))).toBeNull()
})

test('S13 organizations take turns, and waiting does not count as reading', async () => {
  const reader = open()
  const order: string[] = []
  const read = async (owner: string, quota = quotaOf(owner)) => {
    const result = await reader.read(base64([owner]), quota)
    order.push(owner)
    return result
  }
  const many = Array.from({ length: 10 }, () => read('a'))
  const quota = quotaOf('b', 5_000)
  expect((await read('b', quota))?.text.trim()).toBe('b')
  expect(order.length).toBeLessThanOrEqual(3)
  await Promise.all(many)
  expect(await reader.read(base64(['x']), quotaOf('b', 0))).toBeNull()
})

test('S13 the documents of one organization cannot fill the queue of others', async () => {
  const reader = open()
  const reading = Array.from({ length: 60 }, () => reader.read(base64(['x']), quotaOf('a')))
  const refused = (await Promise.allSettled(reading)).filter(({ status }) => status === 'rejected')
  expect(refused.length).toBeGreaterThan(0)
  expect(await reader.read(base64(['y']), quotaOf('b'))).not.toBeNull()
})

test('S13 a document that unpacks to more memory than allowed is not read', async () => {
  const reader = open({ growthBytes: 0, milliseconds: 60_000 })
  const lines = Array.from({ length: 400 }, (_, index) => `page ${index}`)
  expect(await reader.read(base64(lines), quotaOf('a'))).toBeNull()
})

test('S13 a small document may take less memory than a large one', () => {
  const limits = { growthBytes: 1000, smallGrowthBytes: 100 }
  expect(['', 'x'.repeat(10), 'x'.repeat(100)].map((text) => computeGrowth(limits, [text]))).toEqual([
    100, 260, 1000,
  ])
})
