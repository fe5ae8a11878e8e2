// Writes docs/formats/*.md: how each wire format is used, and what is carried, as the conformance suite finds it.
import { type GenerateDialect, generateDialects } from '../src/catalog/vocabulary.ts'
import { dialects } from '../src/dialects/all.ts'
import { factsOf, streamed } from '../src/dialects/conformance/carry.ts'
import {
  bodyFor,
  type Outcome,
  replyOutcome,
  requestOutcome,
  thinkingOutcome,
} from '../src/dialects/conformance/outcome.ts'
import {
  end,
  partEvents,
  plainUsage,
  replyOf,
  replyStories,
  text,
  vendorThinking,
} from '../src/dialects/conformance/reply-stories.ts'
import { requestGroups, thoughtsGroup } from '../src/dialects/conformance/request-stories.ts'
import type { RequestStory } from '../src/dialects/conformance/request-story.ts'
import { fail } from '../src/errors.ts'
import { type Example, pages } from './formats/pages.ts'

export function formatPage(name: GenerateDialect): string {
  const page = pages[name]
  return `# The ${page.title} format

${page.intro}

This page is made by \`npm run formats\`: its examples are what the server writes, and its tables are what the conformance suite finds when it sends each thing through each pair of formats and compares. A test fails when they differ.

## A first call

\`\`\`sh
export HEADGATE_URL=http://127.0.0.1:8080
export INFERENCE_KEY=sk-hg-v1-...

${curl(page.whole)}

# Streamed
${curl(page.stream)}
\`\`\`

The model may be any of the catalogue, whatever format its provider speaks. \`sandbox/echo\` is always there and needs no provider: [sandbox.md](../sandbox.md).

## What reaches the model

Where the provider speaks this format too, the request goes on as the client wrote it, with what Headgate does not know. Otherwise it is translated. What the provider’s format has no words for is left out, and the reply says so in the header \`x-headgate-dropped\`, by the names in the tables. To have such a request refused instead, with status 400, send \`x-headgate-strict: true\`.

The tables list what a client of this format can ask for. Which of it a model can do is in the catalogue; a setting that a model does not support is left out and named in the same header.

${requestTables(name)}

## What comes back

Usage is counted in the same buckets whatever the provider’s format, streamed or whole, and the reply says what it cost.

Where the reply is translated, what this format has no room for is left out and named with \`reply.\` in front, such as \`reply.logprobs\`: in the header \`x-headgate-dropped\` of a whole reply, in a comment before the end of a stream (\`: x-headgate-dropped: reply.logprobs\`), which clients pass over, and in the record of the generation.

How much of what a provider tells a client of this format sees:

${replyTable(name)}

## Streams

${page.streams}

\`\`\`
${sampleStream(name)}
\`\`\`

While the model is silent, a sign of life comes every few seconds, which clients pass over:

\`\`\`
${dialects[name].client.heartbeat.trim()}
\`\`\`

## Errors

${page.errors} What each \`reason\` means: [errors.md](../errors.md).

\`\`\`json
${JSON.stringify(dialects[name].client.encodeError(fail('model_unknown'), 'req-1'), null, 2)}
\`\`\`

A stream that broke off:

\`\`\`
${brokenStream(name)}
\`\`\`

## Choices

${page.choices.map((choice) => `- ${choice}`).join('\n')}
`
}

function curl({ path, auth, body }: Example): string {
  const headers = Object.entries(auth('$INFERENCE_KEY')).map(([header, value]) => `-H "${header}: ${value}"`)
  return `curl -sN "$HEADGATE_URL${path}" \\
  ${headers.join(' ')} -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`
}

function requestTables(client: GenerateDialect): string {
  const columns = generateDialects.map((upstream) =>
    upstream === client ? `${pages[upstream].label} (the same)` : pages[upstream].label,
  )
  return Object.entries(requestGroups)
    .map(([heading, stories]) => {
      const rows =
        heading === thoughtsGroup
          ? thinkingRows(client)
          : stories.flatMap((story) => requestRow(client, story))
      if (rows.length === 0) return ''
      return `### ${heading}\n\n| | ${columns.join(' | ')} |\n|---|${'---|'.repeat(columns.length)}\n${rows.join('\n')}`
    })
    .filter((table) => table !== '')
    .join('\n\n')
}

/** Thinking that a client was given and sends back. */
function thinkingRows(client: GenerateDialect): string[] {
  return Object.entries(vendorThinking).map(([name, parts]) => {
    const cells = generateDialects.map((upstream) => cell(thinkingOutcome(client, upstream, parts)))
    return `| ${name} | ${cells.join(' | ')} |`
  })
}

function cell({ dropped, notes }: Outcome): string {
  const left = dropped.length > 0 ? [`left out: ${dropped.map((word) => `\`${word}\``).join(', ')}`] : []
  return [...left, ...notes].join('; ') || 'yes'
}

function requestRow(client: GenerateDialect, story: RequestStory): string[] {
  const body = bodyFor(client, story)
  if (!body) return []
  const cells = generateDialects.map((upstream) => cell(requestOutcome(client, upstream, story, body)))
  return [`| ${story.name} | ${cells.join(' | ')} |`]
}

function replyTable(client: GenerateDialect): string {
  const rows = replyStories.map(
    (story) => `| ${story.name} | ${replyOutcome(client, story).join('; ') || 'all'} |`,
  )
  return `| The provider’s reply | What is seen |\n|---|---|\n${rows.join('\n')}`
}

const sample = replyOf(partEvents([text('Hel', 'lo')]), [end('stop')], plainUsage)

function sampleStream(name: GenerateDialect): string {
  return shortened(streamed(name, sample, factsOf({ logprobs: false })))
}

function brokenStream(name: GenerateDialect): string {
  const writer = dialects[name].client.writer(factsOf({ logprobs: false }))
  const begun = sample.slice(0, 3).map((event) => writer.write(event))
  const stream =
    begun.join('') + writer.fail(fail('upstream_failed', 'The connection to the provider broke off.'))
  return shortened(stream.split('\n\n').filter(Boolean).slice(-1).join('\n\n'), 600)
}

/** Long events in their first words: the form is what matters. */
function shortened(stream: string, longest = 220): string {
  return stream
    .trim()
    .replaceAll(/"completed_at":\d+/g, '"completed_at":1790000001')
    .split('\n')
    .map((line) => (line.length > longest ? `${line.slice(0, longest)} …` : line))
    .join('\n')
}

export function pagePath(name: GenerateDialect): string {
  return `docs/formats/${name}.md`
}

if (import.meta.main) {
  for (const name of generateDialects) await Bun.write(pagePath(name), formatPage(name))
}
