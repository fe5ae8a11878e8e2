import { expect, test } from 'bun:test'
import type { AuditDestination } from './queries.ts'
import { describeAddress, describeSelection, stateOf } from './texts.ts'

const destination: AuditDestination = {
  id: '0cf01dc0-1ba1-49a0-9fa1-d9c87b5b1500',
  name: 'SIEM',
  type: 'syslog',
  config: { host: '2001:db8::1', port: 6514, tls: true },
  is_signed: false,
  action_prefixes: null,
  enabled: true,
  chain: 'organization',
  created_at: '2026-11-16T00:00:00.000Z',
  updated_at: '2026-11-16T00:00:00.000Z',
  status: {
    position: 3,
    pending: 0,
    delivered: 3,
    missed: 0,
    failures: 0,
    last_success_at: null,
    last_error: null,
    last_error_at: null,
    retry_at: null,
  },
}

test('what is sent, where and how it goes', () => {
  expect(describeAddress(destination)).toBe('Syslog [2001:db8::1]:6514, over TLS')
  expect(describeSelection(destination)).toBe('Every action of the organization')
  expect(stateOf(destination).label).toBe('active')
})

test('a destination that fails, and one that is off', () => {
  const status = { ...destination.status, failures: 2 }
  expect(stateOf({ enabled: true, status }).label).toBe('failing')
  expect(stateOf({ enabled: false, status }).label).toBe('disabled')
})

test('a webhook for some actions of the installation', () => {
  const webhook: AuditDestination = {
    ...destination,
    type: 'webhook',
    config: { url: 'https://siem.example.com/in' },
    is_signed: true,
    action_prefixes: ['key.', 'member.'],
    chain: 'installation',
  }
  expect(describeAddress(webhook)).toBe('Webhook https://siem.example.com/in, signed')
  expect(describeSelection(webhook)).toBe('Actions that begin with key., member. of the installation')
})
