import { describe, expect, test } from 'bun:test'
import { combineTagRules, type TagRules } from '../../governance/tags/rules.ts'
import { noTags } from '../../governance/tags/tag.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { parseOptions } from './options.ts'

const noDefaults = { defaultModel: null, tagRules: null }

function parseAll(body: JsonObject, headers: Record<string, string> = {}) {
  return parseOptions({ model: 'm', ...body }, new Headers(headers), noDefaults)
}

function parse(...args: Parameters<typeof parseAll>) {
  const { tags, droppedTags, user } = parseAll(...args)
  return { tags, droppedTags, user }
}

const tagsOf = (...args: Parameters<typeof parse>) => parse(...args).tags
const droppedOf = (...args: Parameters<typeof parse>) => parse(...args).droppedTags

describe('the tags of a request', () => {
  test('are one shared empty list if there are none', () => {
    expect(tagsOf({})).toBe(noTags)
    expect(tagsOf({ metadata: { user_id: 'u' } })).toBe(noTags)
  })

  test('come from x-headgate-tags, sorted, each once', () => {
    const header = { 'x-headgate-tags': ' Team=search,project = apollo, prod,, prod ' }
    expect(tagsOf({}, header)).toEqual(['prod=true', 'project=apollo', 'team=search'])
  })

  test('come from metadata, and its list of tags', () => {
    const metadata = { Project: 'apollo', tags: ['prod', 'jobID:214', 'a=b:c'], user_id: 'u-1', build: '7' }
    expect(parse({ metadata })).toEqual({
      tags: ['a=b:c', 'build=7', 'jobid=214', 'prod=true', 'project=apollo'],
      droppedTags: [],
      user: 'u-1',
    })
  })

  test('come from the headers of other gateways', () => {
    const headers = {
      'x-portkey-metadata': '{"_user": "u-2", "env": "prod"}',
      'cf-aig-metadata': '{"team": "AI", "attempt": 3, "test": true}',
      'Helicone-Property-App': 'mobile',
      'x-litellm-tags': 'batch, tier:gold',
    }
    expect(parse({}, headers)).toEqual({
      tags: ['app=mobile', 'attempt=3', 'batch=true', 'env=prod', 'team=AI', 'test=true', 'tier=gold'],
      droppedTags: [],
      user: 'u-2',
    })
  })

  test('have the value of our header, then of the body, then of others', () => {
    const headers = { 'x-headgate-tags': 'a=1', 'cf-aig-metadata': '{"a": "3", "b": "3", "c": "3"}' }
    const { tags, droppedTags } = parse({ metadata: { a: '2', b: '2' } }, headers)
    expect(tags).toEqual(['a=1', 'b=2', 'c=3'])
    expect(droppedTags).toEqual(['tag:a', 'tag:b'])
  })

  test.each([
    ['has spaces=1', 'the name of a tag must have 1 to 64'],
    [`${'n'.repeat(65)}=1`, 'the name of a tag'],
    ['=1', 'the name of a tag'],
    ['a=', 'the value of "a" must have 1 to 128'],
    [`a=${'v'.repeat(129)}`, 'the value of "a"'],
    ['a=\u0085', 'the value of "a"'],
    ['a=1, a=2', 'must have one value of "a"'],
    [Array.from({ length: 17 }, (_, index) => `t${index}`).join(','), 'must have at most 16 tags'],
  ])('in our header are valid, or the request is rejected: %s', (header, message) => {
    expect(() => tagsOf({}, { 'x-headgate-tags': header })).toThrow(`x-headgate-tags: ${message}`)
  })

  test('elsewhere are named as dropped if they are not valid', () => {
    const metadata = {
      'two words': 'x',
      long: 'v'.repeat(129),
      control: 'a\nb',
      empty: '',
      deep: {},
      ok: 'y',
    }
    expect(parse({ metadata })).toMatchObject({
      tags: ['ok=y'],
      droppedTags: ['tag:control', 'tag:deep', 'tag:empty', 'tag:long', 'tag:two words'],
    })
    expect(droppedOf({}, { 'x-portkey-metadata': '{"a":', 'cf-aig-metadata': '[1]' })).toEqual([
      'cf-aig-metadata',
      'x-portkey-metadata',
    ])
  })

  test('are at most 16, and the names of dropped ones are bounded', () => {
    const many = Object.fromEntries(
      Array.from({ length: 200 }, (_, index) => [`${'n'.repeat(200)}${index}`, 'v']),
    )
    expect(droppedOf({ metadata: many })).toHaveLength(1)
    const short = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`n${index}`, 'v']))
    expect(tagsOf({ metadata: short })).toHaveLength(16)
    expect(droppedOf({ metadata: short })).toHaveLength(32)
    expect(
      tagsOf({ metadata: { tags: Array.from({ length: 200 }, (_, index) => `t${index}`) } }),
    ).toHaveLength(16)
  })
})

describe('the rules of a key and its workspace', () => {
  const rulesOf = (rules: Partial<TagRules>) =>
    JSON.stringify({ required: [], forbidden: [], set: {}, ...rules })
  const parseWith = (workspace: string | null, key: string | null, header: string) =>
    parseOptions({ model: 'm' }, new Headers({ 'x-headgate-tags': header }), {
      defaultModel: null,
      tagRules: combineTagRules(workspace, key),
    })

  test('set tags, whatever the client sends; those of the workspace count', () => {
    const workspace = rulesOf({ set: { team: 'outer' }, required: ['team', 'project'] })
    const key = rulesOf({ set: { team: 'inner', env: 'prod' } })
    const { tags, droppedTags } = parseWith(workspace, key, 'project=a,team=mine,env=test')
    expect(tags).toEqual(['env=prod', 'project=a', 'team=outer'])
    expect(droppedTags).toEqual(['tag:env', 'tag:team'])
  })

  test('require and forbid names', () => {
    const rules = rulesOf({ required: ['project'], forbidden: ['internal'] })
    for (const [workspace, key] of [
      [rules, null],
      [null, rules],
      [rules, rules],
    ] as const) {
      expect(() => parseWith(workspace, key, 'a=1')).toThrow('requires the tag "project"')
      expect(() => parseWith(workspace, key, 'project=1,internal=1')).toThrow('forbids the tag "internal"')
      expect(parseWith(workspace, key, 'project=1').tags).toEqual(['project=1'])
    }
  })

  test('count towards the number of tags', () => {
    const header = Array.from({ length: 16 }, (_, index) => `t${index}`).join(',')
    const { tags, droppedTags } = parseWith(rulesOf({ set: { first: '1' } }), null, header)
    expect([tags.length, tags.includes('first=1'), droppedTags]).toEqual([16, true, ['tag:t15']])
  })
})

describe('the end user of a request', () => {
  const headers = {
    'x-headgate-user': 'ours',
    'helicone-user-id': 'helicone',
    'x-portkey-metadata': '{"_user": "portkey"}',
    'x-litellm-end-user-id': 'litellm',
    'x-openwebui-user-id': 'openwebui',
  }
  const body = { user: 'body', safety_identifier: 'safety', metadata: { user_id: 'metadata' } }

  test('is the first of our header, the body and other headers', () => {
    expect(parse(body, headers).user).toBe('ours')
    const { 'x-headgate-user': _own, ...others } = headers
    expect(parse(body, others).user).toBe('body')
    expect(parse({ ...body, user: undefined }, others).user).toBe('safety')
    expect(parse({ metadata: body.metadata }, others).user).toBe('metadata')
    expect(parse({}, others).user).toBe('portkey')
    expect(parse({}, { 'helicone-user-id': 'helicone', 'x-openwebui-user-id': 'o' }).user).toBe('helicone')
    expect(parse({}, { 'x-openwebui-user-id': 'o' }).user).toBe('o')
    expect(parse({ metadata: { _user: 'portkey' } }, others).user).toBe('portkey')
    expect(parse({}, { 'x-portkey-metadata': '{"user_id": "p"}' }).user).toBe('p')
    expect(parse({}, { 'cf-aig-metadata': '{"user_id": "c"}' }).user).toBe('c')
    expect(parse({}, { 'cf-aig-metadata': '{"user_id": 17}' }).user).toBe('17')
    expect(parse({}).user).toBeNull()
  })

  test('in our header is at most 256 characters', () => {
    expect(() => parse({}, { 'x-headgate-user': 'u'.repeat(257) })).toThrow(
      'x-headgate-user: must have at most 256',
    )
  })
})

describe('the session of a request', () => {
  test('can be named in headers of other gateways', () => {
    const session = { 'helicone-session-id': 'helicone' }
    expect(parseAll({}, session).sessionId).toBe('helicone')
    expect(parseAll({ prompt_cache_key: 'cache' }, session).sessionId).toBe('helicone')
    expect(parseAll({ session_id: 'body' }, session).sessionId).toBe('body')
    expect(parseAll({}, { ...session, 'x-session-id': 'ours' }).sessionId).toBe('ours')
    for (const name of ['x-litellm-session-id', 'x-bf-session-id', 'cf-aig-session-id', 'x-portkey-trace-id'])
      expect(parseAll({}, { [name]: 'theirs' }).sessionId).toBe('theirs')
  })
})
