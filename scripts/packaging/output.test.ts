import { expect, test } from 'bun:test'
import { resolveOutput } from './output.mjs'

test.each([
  [undefined, '/home/ann/headgate/dist'],
  ['out', '/home/ann/headgate/out'],
  ['/tmp/dist', '/tmp/dist'],
  ['../dist', '/home/ann/dist'],
  ['.', null],
  ['..', null],
  ['/', null],
  ['dist/..', null],
])('packages in %p are written to %p: a folder with the source is never emptied', (folder, output) => {
  expect(resolveOutput('/home/ann/headgate', folder)).toBe(output)
})
