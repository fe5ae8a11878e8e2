import { expect, test } from 'bun:test'
import { toGenerationRecord } from '../../test/support/generations.ts'
import { emptyGeneration, generationColumns } from '../platform/db/generation-table.ts'
import { emptyTarget } from './draft.ts'
import { type AdmitOperation, encodeHold, type Settlement } from './engine.ts'
import { draftColumns, listRecordValues } from './generation.ts'
import { encodeColumns, type JournalLine, splitLine } from './journal-line.ts'
import { SegmentDecoder } from './segment-decoder.ts'
import { SegmentEncoder } from './segment-encoder.ts'
import { createRelease } from './settlement.ts'

const pricing = { prompt: '0.1', completion: '0.2' }
const subjects = ['organization:one', 'key:1']

function hold(): AdmitOperation {
  return {
    op: 'admit',
    organizationId: 'one',
    owner: 'node',
    expiresAt: '2031-01-01T01:00:00.000Z',
    draft: {
      generation: { ...emptyGeneration, id: 'gen-1', organization_id: 'one', key_id: 1 },
      initialTarget: { ...emptyTarget, pricing },
      promptTokens: 3,
      byokFee: 0.05,
    },
    request: { id: 'gen-1', subjects, day: '2031-01-01', limits: [], free: null, amount: 1n, byok: 0n },
  }
}

function settlement(draft: AdmitOperation['draft']['generation'], changes = {}): Settlement {
  const { outcome } = toGenerationRecord({ ...emptyGeneration, cost_nanos: 5n })
  const { id, organization_id } = draft
  return { ...createRelease(id, organization_id), generation: { draft, outcome }, ...changes }
}

function kindOf(line: JournalLine): string {
  return splitLine(line).kind
}

const changedDrafts = draftColumns.map((column) => {
  const { draft, ...op } = hold()
  const value = typeof emptyGeneration[column] === 'number' ? 7 : 'changed'
  const generation = { ...draft.generation, [column]: value }
  return [
    column,
    { ...op, draft: { ...draft, generation }, request: { ...op.request, id: generation.id } },
  ] as const
})

const { draft, request } = hold()
const changedHolds: [string, AdmitOperation][] = [
  ['the owner', { ...hold(), owner: 'another' }],
  ['the expiry', { ...hold(), expiresAt: '2032-01-01T00:00:00.000Z' }],
  ['the meters', { ...hold(), request: { ...request, subjects: ['key:1'] } }],
  ['the day', { ...hold(), request: { ...request, day: '2031-01-02' } }],
  ['the amounts', { ...hold(), request: { ...request, amount: 8n, byok: 9n } }],
  ['the size of the prompt', { ...hold(), draft: { ...draft, promptTokens: 4 } }],
  ['the fee', { ...hold(), draft: { ...draft, byokFee: 0.1 } }],
  ...Object.entries({ ...emptyTarget, pricing }).map(([name, value]): [string, AdmitOperation] => {
    const changed = name === 'pricing' ? { prompt: '1', completion: '2' } : value === 0 ? 1 : 'changed'
    return [
      name,
      { ...hold(), draft: { ...draft, initialTarget: { ...emptyTarget, pricing, [name]: changed } } },
    ]
  }),
]

/** Decodes the last of the lines of a segment, as another thread reads them. */
function decodeLast(lines: readonly JournalLine[]): unknown {
  const decoder = new SegmentDecoder()
  let decoded: unknown
  for (const line of [encodeColumns(generationColumns), ...lines].map(splitLine)) {
    if (line.kind === 'admit' || line.kind === 'repeat') decoder.addHold(line)
    if (line.kind === 'columns') decoder.setColumns(JSON.parse(line.rest))
    else
      decoded =
        line.kind === 'admit' || line.kind === 'repeat'
          ? decoder.decodeHold(line)
          : decoder.decodeSettlement(line)
  }
  return decoded
}

test.each([...changedDrafts, ...changedHolds])(
  'R7 a hold that differs in %s from one before is read as it is',
  (_, op) => {
    const encoder = new SegmentEncoder()
    const lines = [hold(), op].map((admit) => encoder.encodeAdmit(admit))
    expect(decodeLast(lines)).toEqual(JSON.parse(JSON.stringify(encodeHold(op))))
  },
)

test.each(changedDrafts)(
  'R7 a settlement that differs in %s from a line before is read as it is',
  (_, op) => {
    for (const first of [
      (encoder: SegmentEncoder) => encoder.encodeAdmit(hold()),
      (encoder: SegmentEncoder) => encoder.encodeSettlement(settlement(draft.generation)),
    ]) {
      const encoder = new SegmentEncoder()
      const settled = settlement(op.draft.generation, { isByok: true, spent: { amount: 5n, byok: 6n } })
      const extraStatements = [{ sql: 'insert into t values (?)', values: ['a\tb'] }]
      const lines = [first(encoder), encoder.encodeSettlement({ ...settled, extraStatements })]
      expect(decodeLast(lines)).toMatchObject({
        ...{ organizationId: op.draft.generation.organization_id, isByok: true, extraStatements },
        ...{
          spent: { amount: 5n, byok: 6n },
          generation: settled.generation && listRecordValues(settled.generation),
        },
      })
    }
  },
)

test('only what differs from an earlier line is written again', () => {
  const encoder = new SegmentEncoder()
  const next = { ...draft.generation, id: 'gen-2', request_id: 'req-2' }
  const repeated = { ...hold(), draft: { ...draft, generation: next }, request: { ...request, id: 'gen-2' } }
  const lines = [
    encoder.encodeAdmit(hold()),
    encoder.encodeAdmit(repeated),
    encoder.encodeSettlement(createRelease('gen-3', 'one')),
    encoder.encodeSettlement(settlement(next)),
    new SegmentEncoder().encodeSettlement(settlement(next)),
  ]
  expect(lines.map(kindOf)).toEqual(['admit', 'repeat', 'settle', 'charge', 'settle'])
})

test('a hold of a free model, and one whose draft is not its own, are written in full', () => {
  const encoder = new SegmentEncoder()
  const free = { subject: 'key:1', minute: '2031-01-01T00:00', perMinute: 1, perDay: 1 }
  const lines = [
    encoder.encodeAdmit(hold()),
    encoder.encodeAdmit({ ...hold(), request: { ...request, free } }),
    encoder.encodeAdmit({ ...hold(), request: { ...request, id: 'gen-1+1' } }),
    encoder.encodeSettlement({ ...settlement(draft.generation), organizationId: 'two' }),
  ]
  expect(lines.map(kindOf)).toEqual(['admit', 'admit', 'admit', 'settle'])
})
