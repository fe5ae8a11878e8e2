import { describe, expect, test } from 'bun:test'
import { describeOnSqlite } from '../../../../test/support/harness.ts'
import { detectorLabels, detectorSlugs } from '../../../governance/filters/detectors.ts'

describeOnSqlite('Content filters', (server) => {
  let made = 0
  const create = (body: Record<string, unknown>) =>
    server().call('POST', '/guardrails', { body: { name: `filtered ${++made}`, ...body } })

  describe('E15 content_filter_builtins', () => {
    test('E15 every slug takes every action, and comes back with its own label', async () => {
      for (const action of ['redact', 'block', 'flag']) {
        const { body } = await create({
          content_filter_builtins: detectorSlugs.map((slug) => ({ slug, action, label: 'mine' })),
        })
        expect(body.data.content_filter_builtins).toEqual(
          detectorSlugs.map((slug) => ({
            slug,
            action,
            ...(slug === 'regex-prompt-injection' && { scan_scope: 'all_messages' }),
            label: detectorLabels[slug],
          })),
        )
      }
    })

    test('each built-in filter is listed with what it finds in public texts', async () => {
      const { status, body } = await server().call('GET', '/guardrails/filters')
      expect(status).toBe(200)
      expect(body.data.map(({ slug }: { slug: string }) => slug)).toEqual(detectorSlugs)
      for (const { slug, label, default_threshold, accuracy } of body.data) {
        expect(label).toBe(detectorLabels[slug as keyof typeof detectorLabels])
        expect(default_threshold).toBe(slug === 'regex-prompt-injection' ? 0.5 : null)
        expect(accuracy.length > 0).toBe(slug !== 'secrets')
      }
    })

    test('E15 what is returned can be sent back', async () => {
      const content_filter_builtins = [
        ...detectorSlugs.map((slug) => ({ slug, action: 'block' })),
        ...detectorSlugs.map((slug) => ({ slug, action: 'redact', scope: 'output' })),
      ]
      const { body } = await create({ content_filter_builtins })
      const { id, content_filter_builtins: returned } = body.data
      const again = await server().call('PATCH', `/guardrails/${id}`, {
        body: { content_filter_builtins: returned },
      })
      expect(again.body.data.content_filter_builtins).toEqual(returned)
    })

    test('the scope is shown only where it was sent', async () => {
      const filters = [
        { slug: 'email', action: 'flag' },
        { slug: 'phone', action: 'flag', scope: 'input' },
        { slug: 'email', action: 'redact', scope: 'output' },
        { slug: 'regex-prompt-injection', action: 'block', scope: 'output' },
        { slug: 'secrets', action: 'block', scope: 'both' },
      ]
      const { body } = await create({ content_filter_builtins: filters })
      expect(body.data.content_filter_builtins).toEqual([
        { slug: 'email', action: 'flag', label: '[EMAIL]' },
        { slug: 'phone', action: 'flag', scope: 'input', label: '[PHONE]' },
        { slug: 'email', action: 'redact', scope: 'output', label: '[EMAIL]' },
        { slug: 'regex-prompt-injection', action: 'block', scope: 'output', label: '[PROMPT_INJECTION]' },
        { slug: 'secrets', action: 'block', scope: 'both', label: '[SECRET]' },
      ])
    })

    test.each([
      ['slug unknown', [{ slug: 'emails', action: 'flag' }], 'content_filter_builtins.0.slug'],
      ['slug missing', [{ action: 'flag' }], 'content_filter_builtins.0.slug'],
      ['action unknown', [{ slug: 'email', action: 'warn' }], 'content_filter_builtins.0.action'],
      ['action missing', [{ slug: 'email' }], 'content_filter_builtins.0.action'],
      [
        'scan_scope of another detector',
        [{ slug: 'email', action: 'flag', scan_scope: 'user_only' }],
        'content_filter_builtins.0.scan_scope',
      ],
      [
        'scan_scope unknown',
        [{ slug: 'regex-prompt-injection', action: 'flag', scan_scope: 'none' }],
        'content_filter_builtins.0.scan_scope',
      ],
      [
        'label of 101',
        [{ slug: 'email', action: 'flag', label: 'l'.repeat(101) }],
        'content_filter_builtins.0.label',
      ],
      [
        'a slug twice',
        [
          { slug: 'email', action: 'flag' },
          { slug: 'email', action: 'block' },
        ],
        'content_filter_builtins.1.slug',
      ],
      [
        'a slug twice for prompts',
        [
          { slug: 'email', action: 'flag', scope: 'both' },
          { slug: 'email', action: 'block' },
        ],
        'content_filter_builtins.1.slug',
      ],
      ['scope unknown', [{ slug: 'email', action: 'flag', scope: 'all' }], 'content_filter_builtins.0.scope'],
      [
        'threshold of another detector',
        [{ slug: 'email', action: 'flag', threshold: 0.5 }],
        'content_filter_builtins.0.threshold',
      ],
      [
        'threshold out of range',
        [{ slug: 'regex-prompt-injection', action: 'flag', threshold: 1.1 }],
        'content_filter_builtins.0.threshold',
      ],
      [
        'scan_scope of replies',
        [{ slug: 'regex-prompt-injection', action: 'flag', scope: 'output', scan_scope: 'user_only' }],
        'content_filter_builtins.0.scan_scope',
      ],
      ['R12 unknown field', [{ slug: 'email', action: 'flag', level: 3 }], 'content_filter_builtins.0.level'],
      ['not a list', { slug: 'email', action: 'flag' }, 'content_filter_builtins'],
    ])('E15 400 naming the field: %s', async (_, content_filter_builtins, field) => {
      const response = await create({ content_filter_builtins })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    })
  })

  describe('E15 content_filters', () => {
    test('E15 a label may be absent, null or 100 long; a pattern 100,000', async () => {
      const content_filters = [
        { pattern: 'a', action: 'flag' },
        { pattern: 'b', action: 'block', label: null },
        { pattern: 'c', action: 'redact', label: 'l'.repeat(100) },
      ]
      const { body } = await create({ content_filters })
      expect(body.data.content_filters).toEqual([
        { pattern: 'a', action: 'flag', label: null },
        { pattern: 'b', action: 'block', label: null },
        { pattern: 'c', action: 'redact', label: 'l'.repeat(100) },
      ])
      const long = await create({ content_filters: [{ pattern: 'a'.repeat(100_000), action: 'flag' }] })
      expect(long.status).toBe(201)
    })

    test.each([
      ['lookahead', '(?=a)', 'content_filters.1.pattern: invalid or unsupported Perl syntax: `(?=`'],
      ['lookbehind', '(?<=a)b', 'content_filters.1.pattern: invalid named capture'],
      ['backreference', '(a)\\1', 'content_filters.1.pattern: invalid escape sequence: `\\1`'],
      ['open class', '[a', 'content_filters.1.pattern: missing closing ]'],
      ['open group', '(a', 'content_filters.1.pattern: missing closing )'],
      ['empty', '', 'content_filters.1.pattern'],
      ['100,001 long', 'a'.repeat(100_001), 'content_filters.1.pattern'],
      ['S13 unfolding', 'a{1000}'.repeat(11), 'content_filters.1.pattern: its repetitions'],
    ])('E15 400 with the reason of the engine: %s', async (_, pattern, message) => {
      const content_filters = [
        { pattern: 'fine', action: 'flag' },
        { pattern, action: 'flag' },
      ]
      const response = await create({ content_filters })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(message)
    })

    test('E15 nested quantifiers are accepted: this engine is linear', async () => {
      const response = await create({ content_filters: [{ pattern: '(a+)+$', action: 'block' }] })
      expect(response.status).toBe(201)
    })

    test('S13 there are bounds: 100 filters, and a size in all', async () => {
      const filters = (count: number, pattern: string) =>
        create({ content_filters: Array(count).fill({ pattern, action: 'flag' }) })
      expect((await filters(100, 'x')).status).toBe(201)
      expect((await filters(101, 'x')).status).toBe(400)
      const long = await filters(2, 'x'.repeat(60_000))
      expect(long.body.error.message).toBe(
        'content_filters.1.pattern: exceeds the maximum total length of all patterns; shorten or remove some',
      )
      const large = await filters(20, 'x{1000}'.repeat(9))
      expect(large.body.error.message).toStartWith(
        'content_filters.12.pattern: exceeds the maximum total size',
      )
    })

    test('S13 patterns of replies have a smaller size in all', async () => {
      const filters = (scope: string | undefined, count: number) =>
        create({
          content_filters: Array.from({ length: count }, () => ({
            pattern: 'x{500}',
            action: 'flag',
            scope,
          })),
        })
      expect((await filters('output', 3)).status).toBe(201)
      expect((await filters(undefined, 10)).status).toBe(201)
      for (const scope of ['output', 'both']) {
        const { status, body } = await filters(scope, 4)
        expect(status).toBe(400)
        expect(body.error.message).toBe(
          'content_filters.3.pattern: the patterns with scope output or both exceed their maximum total size of 2000; simplify or remove some, or use the scope input',
        )
      }
    })

    test('a custom filter shows its scope where it was sent', async () => {
      const content_filters = [
        { pattern: 'a', action: 'flag', label: null },
        { pattern: 'b', action: 'flag', label: null, scope: 'both' },
      ]
      const { body } = await create({ content_filters })
      expect(body.data.content_filters).toEqual(content_filters)
    })

    test.each([
      ['pattern missing', { action: 'flag' }, 'content_filters.0.pattern'],
      ['action unknown', { pattern: 'a', action: 'delete' }, 'content_filters.0.action'],
      ['label of 101', { pattern: 'a', action: 'flag', label: 'l'.repeat(101) }, 'content_filters.0.label'],
      [
        'R12 inapplicable field',
        { pattern: 'a', action: 'flag', scan_scope: 'user_only' },
        'content_filters.0.scan_scope',
      ],
    ])('E15 400 naming the field: %s', async (_, filter, field) => {
      const response = await create({ content_filters: [filter] })
      expect(response.status).toBe(400)
      expect(response.body.error.message).toStartWith(field)
    })
  })
})
