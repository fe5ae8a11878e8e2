import { afterAll, describe, expect, test } from 'bun:test'
import { TestTimer } from '../../../test/support/clocks.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import { newReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { ClientTexts } from './client-texts.ts'
import { type ReplyStream, usageGraceMs } from './reply-stream.ts'

const timer = new TestTimer()
afterAll(() => timer.stop())

const heartbeat = ': heartbeat\n\n'
const limits = { heartbeat: 10_000, idle: 60_000 }

/** A stream whose next text arrives when the test says so. */
function open() {
  const reads: PromiseWithResolvers<string | null>[] = []
  const stream: ReplyStream = {
    next: () => {
      const read = Promise.withResolvers<string | null>()
      reads.push(read)
      return read.promise
    },
    close: () => 'rest',
    summary: newReplySummary(),
    end: () => '',
    fail: () => '',
    finalBody: null,
    cancel: () => undefined,
  }
  const texts = new ClientTexts({ settings: { limits }, timer } as unknown as Gateway, heartbeat, stream)
  const receive = (text: string | null) => {
    stream.summary.contentEvents++
    reads.at(-1)?.resolve(text)
  }
  return { texts, summary: stream.summary, reads, receive }
}

describe('the texts of a stream', () => {
  test('are sent as they arrive, without the empty ones', async () => {
    const { texts, receive } = open()
    const first = texts.next()
    receive('')
    await Promise.resolve()
    receive('a')
    expect(await first).toBe('a')
    const last = texts.next()
    receive(null)
    expect(await last).toBeNull()
    texts.close()
  })

  test('a text or an error that arrives while the client reads a heartbeat comes next', async () => {
    const { texts, reads, receive } = open()
    const first = texts.next()
    timer.advance(limits.heartbeat)
    expect(await first).toBe(heartbeat)
    receive('late')
    await Promise.resolve()
    expect(await texts.next()).toBe('late')
    const second = texts.next()
    timer.advance(limits.heartbeat)
    expect(await second).toBe(heartbeat)
    reads.at(-1)?.reject(new Error('lost'))
    await Promise.resolve()
    await expect(texts.next()).rejects.toThrow('lost')
    expect(reads).toHaveLength(2)
    texts.close()
  })

  test('a text that arrives in the last moment of the idle time is sent', async () => {
    const { texts, receive } = open()
    const first = texts.next()
    timer.advance(limits.idle)
    expect(await first).toBe(heartbeat)
    receive('late')
    await Promise.resolve()
    expect(await texts.next()).toBe('late')
    texts.close()
  })

  test('end with a timeout when the reply makes no progress, whatever else the provider sends', async () => {
    const { texts, reads } = open()
    const sent: (string | null)[] = []
    for (let passed = 0; passed < limits.idle; passed += 5000) {
      const next = texts.next()
      timer.advance(5000)
      reads.at(-1)?.resolve('ping')
      sent.push(await next)
    }
    expect(sent).toEqual([...Array(11).fill('ping'), 'rest'])
    await expect(texts.next()).rejects.toMatchObject({ failure: { kind: 'timeout' } })
    texts.close()
  })

  test('the time that the client takes to read is no idle time of the provider', async () => {
    const { texts, receive } = open()
    const first = texts.next()
    receive('a')
    await first
    expect(texts.isClientSlow).toBe(false)
    timer.advance(2 * limits.idle)
    const second = texts.next()
    expect(texts.isClientSlow).toBe(true)
    receive('b')
    expect(await second).toBe('b')
    texts.close()
  })

  test('usage is waited for after the end of a reply, but not for long', async () => {
    const { texts, summary, receive } = open()
    const first = texts.next()
    summary.isComplete = true
    receive('')
    await Promise.resolve()
    timer.advance(usageGraceMs + 1)
    expect(await first).toBe('rest')
    expect(await texts.next()).toBeNull()
    texts.close()
  })

  test('end as soon as the reply is complete and its usage known', async () => {
    const { texts, summary, reads } = open()
    summary.isComplete = true
    summary.usage = zeroUsage
    expect(await texts.next()).toBeNull()
    expect(reads).toHaveLength(0)
    texts.close()
  })
})
