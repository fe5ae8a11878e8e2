import { expect, test } from 'bun:test'
import type { Permission } from '../../app/session.tsx'
import { groupPermissions } from './permission-groups.ts'

const permissions = ['keys:read', 'keys:write', 'management_keys:read', 'sso:read'] as const

test('permissions are grouped by what they are about', () => {
  expect(groupPermissions([...permissions])).toEqual([
    { label: 'Keys', permissions: ['keys:read', 'keys:write'] },
    { label: 'Management keys', permissions: ['management_keys:read'] },
    { label: 'Single sign-on', permissions: ['sso:read'] },
  ])
})

test.each<[string, Permission[]]>([
  ['single SIGN', ['sso:read']],
  ['keys:w', ['keys:write']],
  ['', [...permissions]],
  ['nothing like it', []],
])('a search for %j finds %p', (search, found) => {
  expect(groupPermissions([...permissions], search).flatMap((group) => group.permissions)).toEqual(found)
})
