import { expect, test } from 'bun:test'
import { readRateHeaders } from './rate-headers.ts'

const now = Date.parse('2028-03-15T12:00:00Z')
const read = (headers: Record<string, string>) => readRateHeaders(new Headers(headers), now)

const openai = (fields: Record<string, string>) =>
  read(
    Object.fromEntries(
      Object.entries({ 'limit-requests': '60', 'remaining-requests': '59', ...fields }).map(
        ([name, value]) => [`x-ratelimit-${name}`, value],
      ),
    ),
  )

test('the headers of OpenAI, as its documentation shows them', () => {
  const rates = openai({
    'limit-tokens': '150000',
    'remaining-tokens': '149984',
    'reset-requests': '1s',
    'reset-tokens': '4m0s',
  })
  expect(rates).toEqual([
    { measure: 'requests', limit: 60, remaining: 59, resetMs: 1000 },
    { measure: 'tokens', limit: 150_000, remaining: 149_984, resetMs: 240_000 },
  ])
})

test('durations, seconds and dates until the reset', () => {
  for (const [reset, ms] of [
    ['120ms', 120],
    ['2m59.56s', 179_560],
    ['7.5', 7500],
    ['2028-03-15T12:00:30Z', 30_000],
    ['', 60_000],
    ['soon', 60_000],
    ['2028-03-15T11:59:00Z', 0],
  ] as const)
    expect(openai({ 'reset-requests': reset })).toMatchObject([{ resetMs: ms }])
})

test('rates of longer windows, and headers that are no rate, are left out', () => {
  expect(openai({ 'reset-requests': '6h0m0s' })).toEqual([])
  expect(openai({ 'reset-requests': '86400' })).toEqual([])
  for (const limit of ['0', '-1', 'many', 'Infinity', ''])
    expect(openai({ 'limit-requests': limit })).toEqual([])
  expect(openai({ 'remaining-requests': '-5' })).toMatchObject([{ remaining: 0 }])
  expect(openai({ 'remaining-requests': '100' })).toMatchObject([{ remaining: 60 }])
  expect(read({})).toEqual([])
})

test('the headers of Anthropic, by the clock of the provider', () => {
  const rates = read({
    date: 'Wed, 15 Mar 2028 13:00:00 GMT',
    'anthropic-ratelimit-requests-limit': '50',
    'anthropic-ratelimit-requests-remaining': '49',
    'anthropic-ratelimit-requests-reset': '2028-03-15T13:00:02Z',
    'anthropic-ratelimit-tokens-limit': '48000',
    'anthropic-ratelimit-tokens-remaining': '48000',
    'anthropic-ratelimit-tokens-reset': '2028-03-15T13:00:00Z',
    'anthropic-ratelimit-output-tokens-limit': '8000',
    'anthropic-ratelimit-output-tokens-remaining': '1000',
    'anthropic-ratelimit-output-tokens-reset': '2028-03-15T13:00:50Z',
  })
  expect(rates).toEqual([
    { measure: 'requests', limit: 50, remaining: 49, resetMs: 2000 },
    { measure: 'tokens', limit: 48_000, remaining: 48_000, resetMs: 0 },
    { measure: 'output_tokens', limit: 8000, remaining: 1000, resetMs: 50_000 },
  ])
})
