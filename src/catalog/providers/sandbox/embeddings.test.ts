import { expect, test } from 'bun:test'
import { LoopDelay } from '../../../../test/support/loop-delay.ts'
import type { EmbeddingsCall } from '../../../formats/call/embeddings.ts'
import { simulateEmbeddings } from './embeddings.ts'

test('S13 many short texts are embedded in slices', async () => {
  const inputs = Array.from({ length: 400 }, (_, at) => ({ kind: 'text' as const, text: `text ${at}` }))
  const call = { inputs, dimensions: 4096, encoding: 'float' } as unknown as EmbeddingsCall
  const signal = new AbortController().signal
  const before = process.threadCpuUsage()
  const delay = new LoopDelay()
  await simulateEmbeddings(call, 'embedder', { sleep: async () => undefined, signal, maxBytes: 1e9 })
  const longest = delay.stop()
  const { user, system } = process.threadCpuUsage(before)
  // The longest turn is a small part of all of it.
  expect(longest).toBeLessThan((0.25 * (user + system)) / 1000)
})
