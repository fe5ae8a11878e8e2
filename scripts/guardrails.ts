// Writes docs/guardrails-coverage.md: where content filters look, from the cases that test/guardrails/coverage.test.ts runs.
import { type ToolCase, toolCases } from '../test/guardrails/coverage/tools.ts'
import type { CoverageCase, WayIn } from '../test/guardrails/coverage/way-in.ts'
import { waysIn } from '../test/guardrails/coverage/ways.ts'
import { type ReplyPart, waysOut } from '../test/guardrails/coverage/ways-out.ts'

export function renderCoveragePage(ways: readonly WayIn[] = waysIn): string {
  const count = ways.reduce((sum, { cases }) => sum + cases.length, 0)
  return `# Where content filters look

\`npm run guardrails\` generates this page from the ${count} cases of \`test/guardrails/coverage\`. For each row, \`test/guardrails/coverage.test.ts\` sends a request with a canary in that place, once under a filter that blocks it, once under one that redacts it and once under one that flags it, and checks what the provider receives, what the client is told and which part the hit names. At the end no log line and no row of the database has a canary that was blocked or redacted.

- **Streamed** requests: the first place of each way in that can stream, under each action.
- **Layers**: every row by the guardrail of a key; the first place of each way in also by those of the organization, the workspace and the member, under each action.
- **Server tools and plugins**: [below](#server-tools-and-plugins), from \`test/guardrails/tool-coverage.test.ts\`.
- **Replies**: [below](#replies), from \`test/guardrails/reply-formats.test.ts\`.

[Guardrails](guardrails.md#what-is-scanned) says what filters cannot read.

${ways.map(renderWay).join('\n\n')}

${renderTools()}

${renderReplies()}
`
}

const formatNames = { chat: 'Chat completions', messages: 'Messages', responses: 'Responses' }

/** Filters of either side. */
function renderTools(): string {
  return `## Server tools and plugins

What the gateway adds to a request while it runs, and what the model gives to a tool; in each format, streamed and whole. Filters of prompts: under \`block\` the request ends with an error before anyone is sent the text, under \`redact\` everyone is sent the label, under \`flag\` it is sent and recorded. Filters of replies do the same to what the client is shown: items in Responses, blocks in Messages, annotations and \`reasoning_details\` in Chat completions.

| Place | Part in the hit | Sent in requests of | Shown in replies of |
|---|---|---|---|
${toolCases.map(renderTool).join('\n')}`
}

function renderTool({ place, part, formats, hiddenIn = [] }: ToolCase): string {
  const list = (names: readonly (keyof typeof formatNames)[]) =>
    names.map((name) => formatNames[name]).join(', ')
  const shown = formats.filter((format) => !hiddenIn.includes(format))
  return `| ${place} | \`${part}\` | ${list(formats)} | ${list(shown)} |`
}

/** Filters with the scope `output`. */
function renderReplies(): string {
  const rows = waysOut.flatMap(({ name, parts }) => parts.map((part) => renderReplyPart(name, part)))
  return `## Replies

Under filters with the scope \`output\`, each part of a reply with a canary in it, whole and streamed. A blocked reply is 403, or the error that ends a stream in its format; nothing of the match is sent before, and what was generated is charged. Other pairs of client and provider formats, every way to split a match over chunks, refusals, citations, transcripts of audio and provider-specific parts are in \`test/guardrails/replies.test.ts\` and \`src/inference/guard/reply-filter.test.ts\`; transcriptions and revised prompts of images in \`test/guardrails/media-replies.test.ts\`.

| Format | Part | Block | Redact | Flag |
|---|---|---|---|---|
${rows.join('\n')}`
}

function renderReplyPart(name: string, part: ReplyPart): string {
  return `| ${name} | \`${part}\` | an error, nothing of it is sent | sent with the label | sent, recorded |`
}

function renderWay(way: WayIn): string {
  const [path = ''] = way.path.split('?')
  return `## ${way.name.charAt(0).toUpperCase()}${way.name.slice(1)}

\`POST ${path}\`${way.stream ? ', streamed and whole' : ''}

| Place | Part in the hit | Block | Redact | Flag |
|---|---|---|---|---|
${way.cases.map((planting) => renderCase(way, planting)).join('\n')}`
}

function renderCase({ isEstimated }: WayIn, { place, part, isNotSent, isRefused }: CoverageCase): string {
  const redacted = isRefused
    ? '403, nothing is sent'
    : isEstimated
      ? 'no provider is called'
      : isNotSent
        ? 'not sent'
        : 'sent with the label'
  const flagged = isEstimated ? 'recorded' : 'sent, recorded'
  return `| ${place} | \`${part}\` | 403, nothing is sent | ${redacted} | ${flagged} |`
}

if (import.meta.main) await Bun.write('docs/guardrails-coverage.md', renderCoveragePage())
