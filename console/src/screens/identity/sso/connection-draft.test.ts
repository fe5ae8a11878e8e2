import { expect, test } from 'bun:test'
import { buildBody, draftOf, isReady, newConnectionDraft } from './connection-draft.ts'
import type { Connection } from './queries.ts'

const { clientSecret: _none, mappings: _mappings, ...common } = newConnectionDraft

const stored: Connection = {
  ...common,
  id: '0cf01dc0-1ba1-49a0-9fa1-d9c87b5b1500',
  name: 'Example',
  issuer: 'https://idp.example.com',
  client_id: 'headgate',
  client_secret: '********',
  mappings: [{ claim: 'groups', value: 'leads', workspace_id: null, role: 'viewer' }],
  created_at: '2026-11-16T00:00:00.000Z',
  updated_at: '2026-11-16T00:00:00.000Z',
}

test('a stored connection keeps its secret, unless its issuer changes', () => {
  const draft = draftOf(stored)
  expect(isReady(draft, stored)).toBe(true)
  expect(isReady({ ...draft, issuer: 'https://other.example.com' }, stored)).toBe(false)
  expect(isReady({ ...draft, issuer: 'https://other.example.com', clientSecret: 'x' }, stored)).toBe(true)
  expect(buildBody(draft)).not.toHaveProperty('client_secret')
  expect(buildBody(draft).mappings).toEqual(stored.mappings)
})

test('a new connection needs its secret, and a membership its workspace', () => {
  const draft = { ...draftOf(stored), clientSecret: 'x' }
  expect(isReady(draft, undefined)).toBe(true)
  expect(isReady({ ...draft, clientSecret: '' }, undefined)).toBe(false)
  const mapping = { key: '1', claim: 'groups', value: 'a', workspace_id: null, role: 'member' }
  expect(isReady({ ...draft, mappings: [mapping] }, undefined)).toBe(false)
})
