import { describe, expect, test } from 'bun:test'
import { greyPixelPng } from '../../catalog/providers/sandbox/media.ts'
import { runInSlices } from '../time/time-slicer.ts'
import { checkBase64, readBase64Image } from './base64-image.ts'

describe('checkBase64', () => {
  const long = Buffer.alloc(300_000, 0xa7).toString('base64')

  test.each([
    ['one slice', greyPixelPng],
    ['many slices', long],
    ['no padding', 'aGVsbG8'],
  ])('accepts %s', async (_, text) => {
    expect(await runInSlices(checkBase64(text))).toBe(true)
  })

  test.each([
    ['nothing', ''],
    ['padding alone', '=='],
    ['a quote', `${long}"aaa`],
    ['white space', `aGVs bG8${'a'.repeat(8)}`],
    ['the alphabet of URLs', 'aG-_'],
    ['padding in the middle', `aGVsbG8=${long}`],
    ['an impossible length', 'aGVsb'],
  ])('rejects %s', async (_, text) => {
    expect(await runInSlices(checkBase64(text))).toBe(false)
  })
})

test('readBase64Image() reads type and size, and knows what is no image', () => {
  expect(readBase64Image(greyPixelPng)).toEqual({ mediaType: 'image/png', size: { width: 1, height: 1 } })
  const svg = Buffer.from('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>').toString(
    'base64',
  )
  expect(readBase64Image(svg)).toEqual({ mediaType: 'image/svg+xml', size: null })
  for (const text of ['', 'aGVsbG8=', Buffer.from('<html><svg/></html>').toString('base64')])
    expect(readBase64Image(text)).toBeNull()
})
