import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { toAttachedName } from './attached-files.ts'
import { containerEnvironment, formatPolicy, isAllowedDomain } from './environment.ts'
import {
  deriveContainerId,
  formatContainerId,
  parseContainerFileId,
  stripRestart,
  toContainerFileId,
} from './ids.ts'

test('the id of a container is always one that its operations accept', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (sessionKey, generationId) => {
      const id = deriveContainerId({ type: 'container_auto' }, { sessionKey, generationId })
      expect(formatContainerId(id, 'a1b2c3')).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
      expect(stripRestart(formatContainerId(id, 'a1b2c3'))).toBe(id)
    }),
  )
})

test('a long id of a client is not changed by a restart', () => {
  const id = 'x'.repeat(36)
  expect(formatContainerId(id, 'a1b2c3')).toBe(id)
})

test('the id of a file is its path, and nothing else is a path', () => {
  const name = fc.string({ minLength: 1, unit: 'grapheme' }).filter((text) => !/^\.{1,2}$|[/\0]/.test(text))
  fc.assert(
    fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), (names) => {
      const path = names.join('/')
      expect(parseContainerFileId(toContainerFileId(path))).toBe(path)
    }),
  )
  const invalid = ['', '/a', 'a/', 'a//b', '../a', 'a/..', './a', 'a\0b'].map(toContainerFileId)
  for (const id of [...invalid, 'a', 'cfile_', 'cfile_YQ==', 'cfile_Y', 'cfile__w'])
    expect(parseContainerFileId(id)).toBeNull()
})

test.each([
  ['example.com', true],
  ['*.example.com', true],
  ['a-b.c1.example.co', true],
  ['EXAMPLE.com', true],
  ['*', false],
  ['com', false],
  ['*.*.com', false],
  ['a.*.com', false],
  ['127.0.0.1', false],
  ['https://example.com', false],
  ['example.com:443', false],
  ['example.com/', false],
  ['-a.example.com', false],
  ['a b.com', false],
])('whether %s can be an allowed domain: %p', (domain, isValid) => {
  const network_policy = { type: 'allowlist', allowed_domains: [domain] }
  expect(containerEnvironment.safeParse({ type: 'container_auto', network_policy }).success).toBe(isValid)
})

test('a wildcard covers what is below a domain', () => {
  const domains = ['*.example.com', 'other.org']
  const hosts = [
    'a.example.com',
    'a.b.example.com',
    'OTHER.org.',
    'example.com',
    'a.other.org',
    'badexample.com',
  ]
  expect(hosts.filter((host) => isAllowedDomain(host, domains))).toEqual(hosts.slice(0, 3))
})

test('the order of domains does not matter', () => {
  const policy = (...allowed_domains: string[]) => formatPolicy({ type: 'allowlist', allowed_domains })
  expect(policy('b.com', 'a.com', 'b.com')).toBe(policy('a.com', 'b.com'))
  expect(formatPolicy(undefined)).toBe('{"type":"disabled"}')
})

test('a given file has the end of its id in its name', () => {
  expect(toAttachedName({ id: 'hg_file_0123456789abcdef01234567', filename: 'a/b/../c.txt' })).toBe(
    '01234567-c.txt',
  )
})
