import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { joinBytes } from './join-bytes.ts'

test('the chunks one after the other, whatever their lengths', async () => {
  const chunks = fc.array(
    fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.constant(new Uint8Array(600_000).fill(7))),
    {
      maxLength: 5,
    },
  )
  await fc.assert(
    fc.asyncProperty(chunks, async (list) => {
      expect(Buffer.compare(await joinBytes(list), Buffer.concat(list))).toBe(0)
    }),
    { numRuns: 30 },
  )
})
