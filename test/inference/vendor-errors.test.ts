import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { resetRouting } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import { type Bench, type FormatName, openBench, readJson, sendRequest } from './two-upstreams.ts'

describe('R40 details of a vendor error', () => {
  let bench: Bench
  beforeAll(async () => {
    bench = await openBench('sqlite')
  })
  beforeEach(() => resetRouting(bench.server))
  afterAll(async () => {
    await bench.server.stop()
    await Promise.all([bench.first.stop(), bench.second.stop()])
  })

  async function sendFailing(format: FormatName, status: number, json: unknown, model = `test/${format}`) {
    bench.first.enqueue({ status, json })
    const response = await sendRequest(bench, format, { model })
    return { status: response.status, body: await readJson(response) }
  }

  const failedGeneration = {
    error: {
      message: 'Failed to call a function.',
      type: 'invalid_request_error',
      code: 'tool_use_failed',
      param: 'tools',
      failed_generation: '<function=look>{"q": 1}',
    },
  }

  test('chat: additional fields, and the code stays the status', async () => {
    const { status, body } = await sendFailing('chat', 400, failedGeneration)
    expect(status).toBe(400)
    expect(body.error).toMatchObject({
      code: 400,
      message: 'Failed to call a function.',
      param: 'tools',
      failed_generation: '<function=look>{"q": 1}',
      metadata: { provider_code: 'tool_use_failed', reason: 'upstream_rejected' },
    })
  })

  test('chat: the error of a nested gateway', async () => {
    const metadata = { raw: '{"detail":"context"}', provider_name: 'Deeper' }
    const { body } = await sendFailing('chat', 400, { error: { code: 400, message: 'Bad', metadata } })
    expect(body.error.metadata).toMatchObject({ raw: metadata.raw, provider_name: 'one-chat' })
  })

  test('chat: an error inside a stream', async () => {
    const beginning = vendorReply('chat', 'text').frames.slice(0, 4)
    bench.first.enqueue({ sse: [...beginning, `data: ${JSON.stringify(failedGeneration)}\n\n`] })
    const text = await sendRequest(bench, 'chat', { model: 'test/chat', stream: true }).then((reply) =>
      reply.text(),
    )
    expect(text).toContain('"failed_generation":"<function=look>')
  })

  test('a model unknown to the vendor', async () => {
    const message = 'The model `vendor-model` does not exist or you do not have access to it.'
    const { status, body } = await sendFailing('chat', 404, {
      error: { message, code: 'model_not_found', param: 'model' },
    })
    expect(status).toBe(502)
    expect(body.error).toMatchObject({ message, param: 'model', metadata: { error_type: 'not_found' } })
  })

  test('a resource or model unknown to the vendor, for a client of another format', async () => {
    const missing = 'Item rs_1 was not found. Send it again, or omit it.'
    const error = { type: 'error', error: { type: 'not_found_error', message: missing } }
    const { status, body } = await sendFailing('chat', 404, error, 'test/messages')
    expect(status).toBe(502)
    expect(body.error).toMatchObject({ message: missing, metadata: { error_type: 'not_found' } })
    const named = 'No image was found at the URL.'
    const rejected = await sendFailing(
      'messages',
      400,
      { error: { message: named, code: 'not_found' } },
      'test/chat',
    )
    expect(rejected.status).toBe(400)
    expect(rejected.body.error.message).toBe(named)
    const long = await sendFailing('chat', 404, { error: { message: 'x'.repeat(30_000) } }, 'test/responses')
    expect(long.body.error.message.length).toBeLessThan(3000)
  })

  test('messages: the type is the vendor’s, and the message of a 400 and a 413 is unchanged', async () => {
    const long = 'prompt is too long: 210345 tokens > 200000 maximum'
    const error = (type: string, message: string) => ({ type: 'error', error: { type, message } })
    const first = await sendFailing('messages', 400, error('invalid_request_error', long))
    expect(first.body).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: long },
    })
    const large = 'Request exceeds the maximum size'
    const second = await sendFailing('messages', 413, error('request_too_large', large))
    expect(second.status).toBe(413)
    expect(second.body.error).toMatchObject({ type: 'request_too_large', message: large, code: 413 })
  })

  test('responses: the parameter', async () => {
    const error = {
      message: 'Unsupported value',
      type: 'invalid_request_error',
      param: 'text.verbosity',
      code: 'unsupported_value',
    }
    const { body } = await sendFailing('responses', 400, { error })
    expect(body.error).toMatchObject({ code: 400, param: 'text.verbosity' })
  })

  test('gemini: details and status', async () => {
    const violation = {
      '@type': 'type.googleapis.com/google.rpc.BadRequest',
      fieldViolations: [{ field: 'contents[0]', description: 'Invalid' }],
    }
    const owner = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'BAD',
      metadata: { consumer: 'projects/1234567890' },
    }
    const error = {
      code: 400,
      message: 'Invalid',
      status: 'FAILED_PRECONDITION',
      details: [violation, owner],
    }
    bench.first.enqueue({ status: 400, json: { error } })
    const response = await fetch(`${bench.server.url}/v1beta/models/test/gemini:generateContent`, {
      method: 'POST',
      headers: { 'x-goog-api-key': bench.server.own.inferenceKey },
      body: JSON.stringify({ contents: [{ parts: [{ text: 'Hi' }] }] }),
    })
    const { error: shown } = await readJson(response)
    expect(shown).toMatchObject({ code: 400, status: 'FAILED_PRECONDITION' })
    expect(shown.details).toContainEqual(violation)
    expect(JSON.stringify(shown)).not.toContain('1234567890')
  })

  test.each([
    ['a resource', 'arn:aws:bedrock:us-east-1:123456789012:model/x', '123456789012'],
    ['an organization', 'in organization org-AbC123dEf456gHi789 on tokens', 'AbC123dEf456gHi789'],
    ['a project', 'project proj_Ab12Cd34Ef56Gh78 has none', 'Ab12Cd34Ef56Gh78'],
    ['a cloud project', 'on projects/my-secret-project/locations/global', 'my-secret-project'],
    ['a subscription', 'at /subscriptions/0aa1-22bb/resourceGroups/x', '0aa1-22bb'],
    ['a key', 'with sk-proj-abcdef0123456789abcdef', 'abcdef0123456789'],
    [
      'an organization by its UUID',
      '(org: 11111111-2222-4333-8444-555555555555, model: m)',
      '8444-555555555555',
    ],
    ['an organization without digits', 'for org-AbCdEfGhIjKl', 'AbCdEfGhIjKl'],
    ['a project by its number', 'quota of project 123456789', '123456789'],
    ['an account by its number', 'Account 123456789012 is', '123456789012'],
    ['a resource host', 'at acme-prod.openai.azure.com now', 'acme-prod'],
    ['an e-mail address', 'ask ops@acme.example', 'ops@acme'],
    ['a key with underscores', 'sk_live_abcdef0123456789', 'abcdef0123456789'],
    ['the key we signed in with', 'with vendor-secret', 'vendor-secret'],
  ])('without %s', async (_name, words, secret) => {
    const error = { message: `No: ${words}`, param: words, deep: [{ words }] }
    const { body } = await sendFailing('chat', 400, { error })
    expect(JSON.stringify(body)).not.toContain(secret)
    expect(body.error.deep[0].words).toContain('***')
  })

  test('bounded in length and depth', async () => {
    let nested: JsonObject = { end: true }
    for (let level = 0; level < 100; level++) nested = { nested }
    const error = { message: 'No', text: 'x'.repeat(30_000), list: Array(400).fill('y'.repeat(50)), nested }
    const { body } = await sendFailing('chat', 400, { error })
    expect(JSON.stringify(body.error).length).toBeLessThan(20_000)
    expect(body.error.text).toStartWith('xxx')
    expect(JSON.stringify(body)).not.toContain('"end"')
  })

  test('absent for clients of another format, and when another provider was tried as well', async () => {
    const foreign = await sendFailing('messages', 400, failedGeneration, 'test/chat')
    expect(foreign.body.error).not.toHaveProperty('failed_generation')
    expect(foreign.body.error.message).toBe('Failed to call a function.')
    bench.first.enqueue({ status: 500, json: failedGeneration })
    bench.second.enqueue({ status: 500, json: failedGeneration })
    const both = await readJson(sendRequest(bench, 'chat', { model: 'test/both-chat' }))
    expect(both.error).not.toHaveProperty('failed_generation')
  })

  test('nothing about the account of the operator', async () => {
    const { body } = await sendFailing('chat', 402, { error: { message: 'Balance is 0', param: 'balance' } })
    expect(JSON.stringify(body)).not.toContain('alance')
  })

  test('a reply that the vendor has queued is read when it has ended', async () => {
    const queued = { id: 'resp_up', object: 'response', status: 'queued', output: [] }
    const content = [{ type: 'output_text', text: 'Done.', annotations: [] }]
    const output = [{ id: 'm', type: 'message', role: 'assistant', status: 'completed', content }]
    const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
    bench.first.enqueue({ json: queued })
    bench.first.enqueueFor('/responses/resp_up', { json: { ...queued, status: 'completed', output, usage } })
    const response = await sendRequest(bench, 'chat', { model: 'test/responses' })
    const body = await readJson(response)
    expect(response.status).toBe(200)
    expect(body.choices[0].message.content).toBe('Done.')
    expect(bench.first.requests.at(-1)).toMatchObject({ method: 'GET' })
  })
})
