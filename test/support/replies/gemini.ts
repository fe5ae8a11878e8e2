import { dataFrame, input, pieces, type Scenario, type VendorReply } from './scenario.ts'

type Json = Record<string, unknown>

const about = { modelVersion: 'vendor-pro-3', responseId: 'Wm7qaZ3TH5nNxs0P' }

export function geminiReply(scenario: Scenario): VendorReply {
  return { frames: frames(scenario), body: body(scenario), scenario, usage: scenario.usage }
}

function usage(scenario: Scenario): Json {
  const { cacheRead, output, reasoning } = scenario.usage
  return {
    promptTokenCount: input(scenario),
    ...(cacheRead > 0 ? { cachedContentTokenCount: cacheRead } : {}),
    candidatesTokenCount: output,
    totalTokenCount: input(scenario) + output + reasoning,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: input(scenario) }],
    ...(reasoning > 0 ? { thoughtsTokenCount: reasoning } : {}),
  }
}

/** This vendor has no word for tool calls among its finish reasons. */
function finishOf({ finish }: Scenario): string {
  return finish === 'length' ? 'MAX_TOKENS' : 'STOP'
}

function callParts({ toolCalls, reasoning }: Scenario): Json[] {
  return toolCalls.map(({ id, name, arguments: given }, index) => ({
    functionCall: { id, name, args: JSON.parse(given) },
    // Only the first of several calls is signed.
    ...(reasoning && index === 0 ? { thoughtSignature: reasoning.signature } : {}),
  }))
}

function body(scenario: Scenario): Json {
  const { text, reasoning, toolCalls } = scenario
  const signed = reasoning && toolCalls.length === 0 ? { thoughtSignature: reasoning.signature } : {}
  const parts = [
    ...(reasoning ? [{ text: reasoning.text, thought: true }] : []),
    ...(text === '' ? [] : [{ text, ...signed }]),
    ...callParts(scenario),
  ]
  const candidate = { content: { parts, role: 'model' }, finishReason: finishOf(scenario), index: 0 }
  return { candidates: [candidate], usageMetadata: usage(scenario), ...about }
}

function frames(scenario: Scenario): string[] {
  const { text, reasoning, toolCalls } = scenario
  const chunk = (parts: Json[], rest: Json = {}) =>
    dataFrame({
      candidates: [{ content: { parts, role: 'model' }, ...rest, index: 0 }],
      usageMetadata: usage(scenario),
      ...about,
    })
  const trailing = reasoning && toolCalls.length === 0 ? { thoughtSignature: reasoning.signature } : {}
  return [
    ...pieces(reasoning?.text ?? '', 30).map((piece) => chunk([{ text: piece, thought: true }])),
    ...pieces(text, 20).map((piece) => chunk([{ text: piece }])),
    ...callParts(scenario).map((part) => chunk([part])),
    chunk([{ text: '', ...trailing }], { finishReason: finishOf(scenario) }),
  ]
}
