import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { zeroUsage } from '../call/usage.ts'
import { rerankWireFormats } from './all.ts'
import { decodeRerank } from './decode.ts'

const target = { model: 'vendor-model', options: {} }
const decode = (body: JsonObject = {}) =>
  decodeRerank({ model: 'a/b', query: 'capital', documents: ['Paris', 'London', 'Rome'], ...body })

function encode(name: keyof typeof rerankWireFormats, body: JsonObject = {}) {
  const { path, body: sent, dropped } = rerankWireFormats[name].encodeRequest(decode(body).call, target)
  return { path, sent, dropped }
}

const receive = (reply: JsonObject, body: JsonObject = {}) =>
  rerankWireFormats.rerank.decodeReply(reply, decode(body).call)
const results = [
  { index: 1, relevance_score: 0.1 },
  { index: 0, relevance_score: 0.9 },
  { index: 2, relevance_score: 0.1 },
]
const searches = (quantity: number) => [{ billable: 'search', unit: 'search', quantity, variants: [] }]

describe('the shared format', () => {
  test('sends texts as such, and objects only for images', () => {
    expect(
      encode('rerank', { top_n: 2, documents: ['Paris', { text: 'Rome' }], max_tokens_per_doc: 9 }),
    ).toEqual({
      path: '/rerank',
      sent: {
        model: 'vendor-model',
        query: 'capital',
        documents: ['Paris', 'Rome'],
        top_n: 2,
        max_tokens_per_doc: 9,
      },
      dropped: [],
    })
    const documents = [{ text: 'Paris' }, { image: 'https://example.com/a.png' }]
    expect(encode('rerank', { documents }).sent).toMatchObject({ documents })
  })

  test('sorts results, the most relevant first, and cuts them', () => {
    const sorted = [
      { index: 0, score: 0.9 },
      { index: 1, score: 0.1 },
      { index: 2, score: 0.1 },
    ]
    expect(receive({ results })?.results).toEqual(sorted)
    expect(receive({ results }, { top_n: 1 })?.results).toEqual(sorted.slice(0, 1))
    expect(receive({ results }, { top_n: 9 })?.results).toEqual(sorted)
    const scores = results.map(({ index, relevance_score: score }) => ({ index, score }))
    expect(receive({ data: scores })?.results).toEqual(sorted)
  })

  test('counts searches and tokens where each vendor reports them', () => {
    const cohere = { results, meta: { billed_units: { search_units: 3 } } }
    expect(receive(cohere)).toMatchObject({ usage: null, units: searches(3) })
    const counted = { usage: { ...zeroUsage, input: 7 }, units: searches(1) }
    expect(receive({ results, usage: { total_tokens: 7 } })).toMatchObject(counted)
    expect(receive({ results, usage: { prompt_tokens: 7, total_tokens: 7 } })).toMatchObject(counted)
    expect(receive({ results, meta: { tokens: { input_tokens: 7, output_tokens: 0 } } })).toMatchObject(
      counted,
    )
    const documents = Array(101).fill('a')
    const many = documents.map((_, index) => ({ index, relevance_score: 0 }))
    expect(receive({ results: many }, { documents })?.units).toMatchObject(searches(2))
  })

  test('anything else is not a reply', () => {
    const broken = [
      undefined,
      [],
      results.slice(1),
      [...results, { index: 3, relevance_score: 1 }],
      [...results, { index: 0, relevance_score: 1 }],
      results.map(({ index }) => ({ index })),
      results.map(({ relevance_score }) => ({ relevance_score })),
      [{ index: 0.5, relevance_score: 1 }],
    ]
    for (const list of broken) expect(receive({ results: list })).toBeNull()
  })
})

test('the Voyage format names the number of results otherwise', () => {
  expect(encode('voyage-rerank', { top_n: 2, max_tokens_per_doc: 9 })).toEqual({
    path: '/rerank',
    sent: { model: 'vendor-model', query: 'capital', documents: ['Paris', 'London', 'Rome'], top_k: 2 },
    dropped: ['max_tokens_per_doc'],
  })
})

describe('R3 the size of a request', () => {
  test('counts the query with each document', () => {
    const { size } = decode({ query: 'x'.repeat(100), documents: ['a', 'b'] })
    expect(size.promptTokens).toBeGreaterThanOrEqual(202)
    expect(size).toMatchObject({ prompts: 2, outputTokens: 0, units: searches(1) })
  })

  test('counts a long document as the chunks a provider splits it into', () => {
    expect(decode({ documents: Array(100).fill('x'.repeat(499)) }).size.units).toMatchObject(searches(2))
    expect(decode({ documents: Array(100).fill('x'.repeat(400)) }).size.units).toMatchObject(searches(1))
    const long = { query: 'x'.repeat(5000), documents: ['x'.repeat(25_001)] }
    expect(decode(long).size.units).toMatchObject(searches(2))
  })
})
