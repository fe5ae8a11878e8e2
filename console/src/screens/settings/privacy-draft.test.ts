import { expect, test } from 'bun:test'
import { buildChanges, draftOf, type Privacy } from './privacy-draft.ts'

const privacy: Privacy = {
  guardrail_id: '0cf01dc0-1ba1-49a0-9fa1-d9c87b5b1500',
  enable_free_model_publication: null,
  enable_free_model_training: true,
  enable_paid_model_training: false,
  enforce_zdr_vendor_a: true,
  enforce_zdr_vendor_b: null,
  enforce_zdr_vendor_c: false,
  enforce_zdr_vendor_d: null,
  enforce_zdr_other: null,
  allowed_providers: null,
  ignored_providers: ['a'],
  dry_run: false,
  locked: false,
}

test('what was not changed is not sent, whatever it means', () => {
  expect(buildChanges(privacy, draftOf(privacy))).toEqual({})
})

test('a switch restricts, and lifts what it restricted', () => {
  const draft = draftOf(privacy)
  const restrictions = {
    ...draft.restrictions,
    enable_free_model_training: true,
    enable_paid_model_training: false,
    enforce_zdr_vendor_a: false,
    enforce_zdr_other: true,
  }
  expect(buildChanges(privacy, { restrictions, allowedProviders: ['b'], ignoredProviders: [] })).toEqual({
    enable_free_model_training: false,
    enable_paid_model_training: null,
    enforce_zdr_vendor_a: null,
    enforce_zdr_other: true,
    allowed_providers: ['b'],
    ignored_providers: null,
  })
})
