import {
  cacheSamples,
  createSample,
  type FieldSample,
  type FieldTable,
  pipelineFields,
  schema,
  unimplementedSamples,
} from './field-sample.ts'

const declaration = { name: 'look_up', description: 'Looks up', parametersJsonSchema: schema }
const geminiTool = (fields: object = {}) => ({
  tools: [{ functionDeclarations: [{ ...declaration, ...fields }] }],
})
const turn = (...parts: object[]) => ({ contents: [{ role: 'user', parts }] })
const hello = { text: 'Hello' }
const config = (fields: object) => ({ generationConfig: fields })
const toolConfig = (fields: object) => ({
  ...geminiTool(),
  toolConfig: { functionCallingConfig: fields },
})
const toolResultTurns = (response: object) => ({
  contents: [
    { role: 'user', parts: [hello] },
    { role: 'model', parts: [{ functionCall: { name: 'look_up', id: 'c1', args: { q: 'a' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'look_up', id: 'c1', ...response } }] },
  ],
})
const videoPart = { fileData: { mimeType: 'video/mp4', fileUri: 'https://a.example/v.mp4' } }

function createConfigSamples(values: Record<string, unknown>): Record<string, FieldSample> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      `generationConfig.${name}`,
      { used: config({ [name]: value }) },
    ]),
  )
}

export const geminiFields: FieldTable = {
  minimalBody: turn(hello),
  gatewayFields: [...pipelineFields, 'generationConfig.thinkingConfig.includeThoughts'],
  samples: {
    ...unimplementedSamples,
    ...cacheSamples,
    contents: { used: turn({ text: 'Goodbye' }) },
    'contents.role': { used: { contents: [{ role: 'model', parts: [hello] }] } },
    'contents.parts': { used: turn({ text: 'Goodbye' }) },
    ...createPartSamples('contents'),
    systemInstruction: { used: { systemInstruction: { parts: [hello] } } },
    tools: { used: geminiTool() },
    'tools.functionDeclarations': { used: geminiTool() },
    'tools.functionDeclarations.name': { used: geminiTool() },
    'tools.functionDeclarations.description': {
      used: geminiTool(),
      unused: geminiTool({ description: undefined }),
    },
    'tools.functionDeclarations.parameters': {
      used: geminiTool({ parametersJsonSchema: undefined, parameters: { type: 'OBJECT' } }),
      unused: geminiTool({ parametersJsonSchema: undefined }),
    },
    'tools.functionDeclarations.parametersJsonSchema': {
      used: geminiTool(),
      unused: geminiTool({ parametersJsonSchema: undefined }),
    },
    'tools.functionDeclarations.response': { used: geminiTool({ response: {} }), unused: geminiTool() },
    'tools.functionDeclarations.responseJsonSchema': {
      used: geminiTool({ responseJsonSchema: {} }),
      unused: geminiTool(),
    },
    toolConfig: { used: toolConfig({ mode: 'ANY' }), unused: geminiTool() },
    'toolConfig.functionCallingConfig': { used: toolConfig({ mode: 'ANY' }), unused: geminiTool() },
    'toolConfig.functionCallingConfig.mode': { used: toolConfig({ mode: 'SOME' }), unused: geminiTool() },
    'toolConfig.functionCallingConfig.allowedFunctionNames': {
      used: toolConfig({ mode: 'ANY', allowedFunctionNames: ['look_up'] }),
      unused: toolConfig({ mode: 'ANY' }),
    },
    generationConfig: { used: config({ temperature: 0.5 }) },
    ...createConfigSamples({
      ...{ temperature: 0.5, topP: 0.5, topK: 5, candidateCount: 2, maxOutputTokens: 77, seed: 7 },
      ...{ stopSequences: ['x'], presencePenalty: 0.5, frequencyPenalty: 0.5, responseLogprobs: true },
      ...{ responseMimeType: 'text/x.enum', mediaResolution: 'MEDIA_RESOLUTION_LOW' },
      ...{ responseSchema: { type: 'OBJECT' }, responseJsonSchema: schema, _responseJsonSchema: schema },
      ...{ thinkingConfig: { thinkingBudget: 2048 }, responseModalities: ['AUDIO'] },
      ...{ speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } } },
      ...{ imageConfig: { aspectRatio: '1:1' } },
    }),
    'generationConfig.logprobs': {
      used: config({ responseLogprobs: true, logprobs: 3 }),
      unused: config({ responseLogprobs: true }),
    },
    'generationConfig.thinkingConfig.thinkingBudget': {
      used: config({ thinkingConfig: { thinkingBudget: 2048 } }),
    },
    'generationConfig.thinkingConfig.thinkingLevel': {
      used: config({ thinkingConfig: { thinkingLevel: 'ultra' } }),
    },
    safetySettings: { used: { safetySettings: [{ category: 'x', threshold: 'y' }] } },
    'safetySettings.category': { used: { safetySettings: [{ category: 'x', threshold: 'y' }] } },
    'safetySettings.threshold': { used: { safetySettings: [{ category: 'x', threshold: 'y' }] } },
    ...createSample('cachedContent', 'cachedContents/1'),
    ...createSample('serviceTier', 'flex'),
    ...createSample('labels', { a: 'b' }),
    ...createSample('user', 'u-1'),
  },
}

function createPartSamples(prefix: string): Record<string, FieldSample> {
  const entries: [string, FieldSample][] = [
    ['text', { used: turn({ text: 'Goodbye' }) }],
    ['thought', { used: { contents: [{ role: 'model', parts: [{ text: 'Hm.', thought: true }, hello] }] } }],
    [
      'thoughtSignature',
      { used: { contents: [{ role: 'model', parts: [{ ...hello, thoughtSignature: 'c2ln' }] }] } },
    ],
    ...['inlineData', 'inlineData.mimeType', 'inlineData.data'].map((name): [string, FieldSample] => [
      name,
      { used: turn(hello, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }) },
    ]),
    ...['fileData', 'fileData.mimeType', 'fileData.fileUri'].map((name): [string, FieldSample] => [
      name,
      { used: turn(hello, { fileData: { mimeType: 'image/png', fileUri: 'gs://bucket/i.png' } }) },
    ]),
    ...['', '.name', '.id', '.args'].map((name): [string, FieldSample] => [
      `functionCall${name}`,
      { used: toolResultTurns({ response: { output: 'x' } }) },
    ]),
    ...['', '.name', '.id', '.response'].map((name): [string, FieldSample] => [
      `functionResponse${name}`,
      { used: toolResultTurns({ response: { output: 'x' } }), unused: toolResultTurns({}) },
    ]),
    ['executableCode', { used: turn(hello, { executableCode: { code: '1', language: 'PYTHON' } }) }],
    ['codeExecutionResult', { used: turn(hello, { codeExecutionResult: { outcome: 'OUTCOME_OK' } }) }],
    [
      'videoMetadata',
      { used: turn(hello, { ...videoPart, videoMetadata: { fps: 1 } }), unused: turn(hello, videoPart) },
    ],
  ]
  return Object.fromEntries(entries.map(([name, sample]) => [`${prefix}.parts.${name}`, sample]))
}
