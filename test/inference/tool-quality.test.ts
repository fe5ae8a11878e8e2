import { expect, test } from 'bun:test'
import { type TextWireFormat, vendorReply } from '../support/replies.ts'
import type { UpstreamResponse } from '../support/upstream.ts'
import { describeWithUpstreamsOnSqlite, type FormatName, sendRequest } from './two-upstreams.ts'

const scenario = vendorReply('chat', 'toolCalls').scenario
const offered = [...new Set(scenario.toolCalls.map(({ name }) => name))]

/** The tools of the scenario, or others, in each format. */
const toolsOf = (format: FormatName, names: string[]) =>
  names.map((name) => {
    const schema = { type: 'object', properties: {} }
    if (format === 'chat') return { type: 'function', function: { name, parameters: schema } }
    if (format === 'messages') return { name, input_schema: schema }
    return { type: 'function', name, parameters: schema }
  })

/** Replies that are parsed: translated ones, whole ones, and formats whose last event repeats the calls. */
const read: [FormatName, TextWireFormat, 'whole' | 'streamed'][] = [
  ['chat', 'chat', 'whole'],
  ['messages', 'messages', 'whole'],
  ['responses', 'responses', 'whole'],
  ['responses', 'responses', 'streamed'],
  ['chat', 'messages', 'whole'],
  ['chat', 'messages', 'streamed'],
  ['chat', 'gemini', 'streamed'],
  ['messages', 'chat', 'streamed'],
  ['responses', 'gemini', 'whole'],
]

const unread: [FormatName, TextWireFormat][] = [
  ['chat', 'chat'],
  ['messages', 'messages'],
]

describeWithUpstreamsOnSqlite('tool-call quality', (bench) => {
  const sendAndObserve = async (
    format: FormatName,
    wireFormat: TextWireFormat,
    scripted: UpstreamResponse,
    names: string[],
  ): Promise<boolean[]> => {
    const verdicts: boolean[] = []
    const health = bench().server.gateway.routing.health.getOrCreate(`test/${wireFormat} one-${wireFormat}`)
    health.recordToolCalls = (_now, areValid) => void verdicts.push(areValid)
    bench().first.enqueue(scripted)
    const body = {
      model: `test/${wireFormat}`,
      tools: toolsOf(format, names),
      stream: scripted.sse !== undefined,
    }
    const response = await sendRequest(bench(), format, body)
    expect(response.status).toBe(200)
    await response.text()
    return verdicts
  }
  const responseOf = (wireFormat: TextWireFormat, way: 'whole' | 'streamed'): UpstreamResponse => {
    const { body, frames } = vendorReply(wireFormat, 'toolCalls')
    return way === 'whole' ? { json: body } : { sse: frames }
  }

  test.each(read)('a valid call counts for its endpoint: %s over %s, %s', async (format, wireFormat, way) => {
    expect(await sendAndObserve(format, wireFormat, responseOf(wireFormat, way), offered)).toEqual([true])
  })

  test.each(read)('an unknown tool counts against it: %s over %s, %s', async (format, wireFormat, way) => {
    expect(await sendAndObserve(format, wireFormat, responseOf(wireFormat, way), ['something_else'])).toEqual(
      [false],
    )
  })

  test('arguments that are not JSON count against it', async () => {
    const text = JSON.stringify(vendorReply('chat', 'toolCalls').body)
    const broken = JSON.parse(text.replace(/"arguments":"\{/, '"arguments":"'))
    expect(await sendAndObserve('chat', 'chat', { json: broken }, offered)).toEqual([false])
  })

  test('a reply without calls does not count', async () => {
    const { body } = vendorReply('chat', 'text')
    expect(await sendAndObserve('chat', 'chat', { json: body }, offered)).toEqual([])
  })

  test.each(unread)('streams that are passed through do not count: %s', async (format, wireFormat) => {
    expect(await sendAndObserve(format, wireFormat, responseOf(wireFormat, 'streamed'), offered)).toEqual([])
  })
})
