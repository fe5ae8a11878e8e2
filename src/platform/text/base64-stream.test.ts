import { expect, test } from 'bun:test'
import { Base64Stream } from './base64-stream.ts'

test.each([1, 2, 3, 4, 5, 7, 64])('parts of %i bytes are the base64 of all bytes', (size) => {
  const bytes = Buffer.from(Array.from({ length: 100 }, (_, index) => (index * 37) % 256))
  const stream = new Base64Stream()
  let text = ''
  for (let at = 0; at < bytes.length; at += size) text += stream.add(bytes.subarray(at, at + size))
  expect(text + stream.end()).toBe(bytes.toString('base64'))
})
