import { expect, test } from 'bun:test'
import { shortResponses } from '../platform/http/response-traits.ts'
import { compressResponse } from './compress-response.ts'

const request = new Request('http://127.0.0.1/', { headers: { 'accept-encoding': 'gzip' } })
const headers = { 'content-type': 'application/json' }

test('short responses and streams are passed on without a copy', () => {
  const short = new Response('{}', { headers })
  shortResponses.add(short)
  const stream = new Response('data: {}', { headers: { 'content-type': 'text/event-stream' } })
  const long = new Response('{}', { headers: { ...headers, 'cache-control': 'no-transform' } })
  for (const response of [short, stream, long]) expect(compressResponse(request, response)).toBe(response)
})
