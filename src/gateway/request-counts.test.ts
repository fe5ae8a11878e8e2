import { expect, test } from 'bun:test'
import { renderText } from './exposition/text.ts'
import { RequestCounts } from './request-counts.ts'

test('Requests are counted by operation and status, and their durations in cumulative buckets', async () => {
  const counts = new RequestCounts()
  counts.record('createChatCompletion', 200, 0.001)
  counts.record('createChatCompletion', 200, 0.0011)
  counts.record('createChatCompletion', 429, 60)
  counts.record('listKeys', 200, 0.2)
  const lines = (await renderText(counts.collect())).split('\n')
  expect(lines).toContain('headgate_http_requests_total{operation="createChatCompletion",status="200"} 2')
  expect(lines).toContain('headgate_http_requests_total{operation="createChatCompletion",status="429"} 1')
  expect(lines).toContain('headgate_http_requests_total{operation="listKeys",status="200"} 1')
  const bucket = (le: string) =>
    `headgate_http_request_seconds_bucket{le="${le}",operation="createChatCompletion"}`
  expect(lines).toContain(`${bucket('0.001')} 1`)
  expect(lines).toContain(`${bucket('0.0025')} 2`)
  expect(lines).toContain(`${bucket('10')} 2`)
  expect(lines).toContain(`${bucket('60')} 3`)
  expect(lines).toContain(`${bucket('600')} 3`)
  expect(lines).toContain(`${bucket('+Inf')} 3`)
  expect(lines).toContain('headgate_http_request_seconds_sum{operation="createChatCompletion"} 60.0021')
  expect(lines).toContain('headgate_http_request_seconds_count{operation="createChatCompletion"} 3')
})
