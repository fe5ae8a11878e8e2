import { expect, test } from 'bun:test'
import { listChips, parseQuery } from './query.ts'

test('fields, bounds and text are filters of the API', () => {
  expect(
    parseQuery(
      'model:claude status:error key:checkout user:42 tag:apollo cost>0.01 latency>5s "text in the prompt"',
    ),
  ).toEqual({
    problem: null,
    filters: {
      model: '*claude*',
      status: 'error',
      key: 'checkout',
      external_user: '42',
      tag: 'apollo',
      min_cost: '0.01',
      min_latency: '5000',
      text: '"text in the prompt"',
    },
  })
})

test('several values, exclusions, quotes and upper bounds', () => {
  expect(
    parseQuery('model:openai/gpt-4 model:claude -key:"my key, old" cost<=$2 latency<1.5s refund order')
      .filters,
  ).toEqual({
    model: 'openai/gpt-4,*claude*',
    key: '!my key\\, old',
    max_cost: '2',
    max_latency: '1500',
    text: 'refund order',
  })
})

test('a pasted generation id is the id', () => {
  expect(parseQuery(' gen-0199a3b2c4d5 ').filters).toEqual({ id: 'gen-0199a3b2c4d5' })
})

test('what cannot be read is named', () => {
  expect(parseQuery('modle:claude').problem).toContain('“modle”')
  expect(parseQuery('cost>much').problem).toContain('cost>0.01')
  expect(parseQuery('latency>soon').problem).toContain('latency>5s')
  expect(parseQuery('status:done').problem).toContain('done')
  expect(parseQuery('tokens>5').problem).toContain('“tokens”')
})

test('every filter has a chip', () => {
  expect(listChips({ model: '*claude*', min_cost: '0.01', text: 'refund' }).map(({ text }) => text)).toEqual([
    'model:*claude*',
    'cost≥$0.01',
    'refund',
  ])
})
