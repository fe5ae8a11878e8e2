import { expect, test } from 'bun:test'
import { type ExportSettings, sharedParts } from './destinations/export-settings.ts'
import { selectTargets } from './outbox.ts'

const settings: ExportSettings = {
  id: 'destination',
  type: 'kind',
  regions: new Set(['global', 'europe']),
  keyHashes: null,
  samplingRate: 1,
  filterRules: null,
  shared: sharedParts.content | sharedParts.cost,
}
const facts = { id: 'gen-1', keyHash: 'hash', sessionId: null }

test('the content of a regional request is never queued', () => {
  expect(selectTargets([settings], { ...facts, region: 'global' })).toMatchObject({
    destinations: [{ id: 'destination', shared: sharedParts.content | sharedParts.cost }],
    includesContent: true,
  })
  expect(selectTargets([settings], { ...facts, region: 'europe' })).toEqual({
    destinations: [{ id: 'destination', shared: sharedParts.cost }],
    includesContent: false,
  })
  expect(selectTargets([settings], { ...facts, region: 'us' })).toBeNull()
})
