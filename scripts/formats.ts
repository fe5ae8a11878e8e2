// Writes docs/formats/*.md: how each wire format is used, and what is carried, as the conformance suite finds it.
import { type GenerateDialect, generateDialects } from '../src/catalogue/vocabulary.ts'
import { dialects } from '../src/dialects/all.ts'
import {
  buildClientBody,
  computeReasoningOutcome,
  computeReplyOutcome,
  computeRequestOutcome,
  type Outcome,
} from '../src/dialects/conformance/outcome.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  plainUsage,
  replyScenarios,
  textPart,
  vendorReasoning,
} from '../src/dialects/conformance/reply-scenarios.ts'
import type { RequestScenario } from '../src/dialects/conformance/request-scenario.ts'
import { reasoningHistoryGroup, requestGroups } from '../src/dialects/conformance/request-scenarios.ts'
import { createContext, encodeStream } from '../src/dialects/conformance/round-trip.ts'
import { gatewayError } from '../src/errors/gateway-error.ts'
import { type Example, pages } from './formats/pages.ts'

export function renderFormatPage(name: GenerateDialect): string {
  const page = pages[name]
  return `# The ${page.title} format

${page.intro}

This page is made by \`npm run formats\`: its examples are what the server writes, and its tables are what the conformance suite finds when it sends each thing through each pair of formats and compares. A test fails when they differ.

## A first call

\`\`\`sh
export HEADGATE_URL=http://127.0.0.1:8080
export INFERENCE_KEY=sk-hg-v1-...

${formatCurl(page.whole)}

# Streamed
${formatCurl(page.stream)}
\`\`\`

The model may be any of the catalogue, whatever format its provider speaks. \`sandbox/echo\` is always there and needs no provider: [sandbox.md](../sandbox.md).

## What reaches the model

Where the provider speaks this format too, the request goes on as the client wrote it, with what Headgate does not know. Otherwise it is translated. What the provider’s format has no words for is left out, and the reply says so in the header \`x-headgate-dropped\`, by the names in the tables. To have such a request refused instead, with status 400, send \`x-headgate-strict: true\`.

The tables list what a client of this format can ask for. Which of it a model can do is in the catalogue; a setting that a model does not support is left out and named in the same header.

${renderRequestTables(name)}

## What comes back

Usage is counted in the same buckets whatever the provider’s format, streamed or whole, and the reply says what it cost.

Where the reply is translated, what this format has no room for is left out and named with \`reply.\` in front, such as \`reply.logprobs\`: in the header \`x-headgate-dropped\` of a whole reply, in a comment before the end of a stream (\`: x-headgate-dropped: reply.logprobs\`), which clients pass over, and in the record of the generation.

How much of what a provider tells a client of this format sees:

${renderReplyTable(name)}

## Streams

${page.streams}

\`\`\`
${renderSampleStream(name)}
\`\`\`

While the model is silent, a sign of life comes every few seconds, which clients pass over:

\`\`\`
${dialects[name].client.heartbeat.trim()}
\`\`\`

## Errors

${page.errors} What each \`reason\` means: [errors.md](../errors.md).

\`\`\`json
${JSON.stringify(dialects[name].client.encodeError(gatewayError('model_unknown'), 'req-1'), null, 2)}
\`\`\`

A stream that broke off:

\`\`\`
${renderBrokenStream(name)}
\`\`\`

## Choices

${page.choices.map((choice) => `- ${choice}`).join('\n')}
`
}

function formatCurl({ path, auth, body }: Example): string {
  const headers = Object.entries(auth('$INFERENCE_KEY')).map(([header, value]) => `-H "${header}: ${value}"`)
  return `curl -sN "$HEADGATE_URL${path}" \\
  ${headers.join(' ')} -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body)}'`
}

function renderRequestTables(client: GenerateDialect): string {
  const columns = generateDialects.map((upstream) =>
    upstream === client ? `${pages[upstream].label} (the same)` : pages[upstream].label,
  )
  return Object.entries(requestGroups)
    .map(([heading, scenarios]) => {
      const rows =
        heading === reasoningHistoryGroup
          ? renderThinkingRows(client)
          : scenarios.flatMap((scenario) => renderRequestRow(client, scenario))
      if (rows.length === 0) return ''
      return `### ${heading}\n\n| | ${columns.join(' | ')} |\n|---|${'---|'.repeat(columns.length)}\n${rows.join('\n')}`
    })
    .filter((table) => table !== '')
    .join('\n\n')
}

/** Thinking that a client was given and sends back. */
function renderThinkingRows(client: GenerateDialect): string[] {
  return Object.entries(vendorReasoning).map(([name, parts]) => {
    const cells = generateDialects.map((upstream) =>
      formatCell(computeReasoningOutcome(client, upstream, parts)),
    )
    return `| ${name} | ${cells.join(' | ')} |`
  })
}

function formatCell({ dropped, notes }: Outcome): string {
  const droppedText =
    dropped.length > 0 ? [`left out: ${dropped.map((word) => `\`${word}\``).join(', ')}`] : []
  return [...droppedText, ...notes].join('; ') || 'yes'
}

function renderRequestRow(client: GenerateDialect, scenario: RequestScenario): string[] {
  const body = buildClientBody(client, scenario)
  if (!body) return []
  const cells = generateDialects.map((upstream) =>
    formatCell(computeRequestOutcome(client, upstream, scenario, body)),
  )
  return [`| ${scenario.name} | ${cells.join(' | ')} |`]
}

function renderReplyTable(client: GenerateDialect): string {
  const rows = replyScenarios.map(
    (scenario) => `| ${scenario.name} | ${computeReplyOutcome(client, scenario).join('; ') || 'all'} |`,
  )
  return `| The provider’s reply | What is seen |\n|---|---|\n${rows.join('\n')}`
}

const sampleReply = createReplyEvents(
  createPartEvents([textPart('Hel', 'lo')]),
  [createChoiceEnd('stop')],
  plainUsage,
)

function renderSampleStream(name: GenerateDialect): string {
  return shortenLines(encodeStream(name, sampleReply, createContext({ logprobs: false })))
}

function renderBrokenStream(name: GenerateDialect): string {
  const writer = dialects[name].client.createWriter(createContext({ logprobs: false }))
  const frames = sampleReply.slice(0, 3).map((event) => writer.write(event))
  const stream =
    frames.join('') +
    writer.fail(gatewayError('upstream_failed', 'The connection to the provider broke off.'))
  return shortenLines(stream.split('\n\n').filter(Boolean).slice(-1).join('\n\n'), 600)
}

/** Long events in their first words: the form is what matters. */
function shortenLines(stream: string, maxLength = 220): string {
  return stream
    .trim()
    .replaceAll(/"completed_at":\d+/g, '"completed_at":1790000001')
    .split('\n')
    .map((line) => (line.length > maxLength ? `${line.slice(0, maxLength)} …` : line))
    .join('\n')
}

export function pagePath(name: GenerateDialect): string {
  return `docs/formats/${name}.md`
}

if (import.meta.main) {
  for (const name of generateDialects) await Bun.write(pagePath(name), renderFormatPage(name))
}
