import { strToU8, zipSync } from 'fflate'
import { toBase64, toForm } from './way-in.ts'

export type ToolFormat = 'chat' | 'messages' | 'responses'
const allFormats: readonly ToolFormat[] = ['chat', 'messages', 'responses']

/** The address of a case's servers, and its storage of files. */
export interface ToolWorld {
  origin: string
  upload(form: FormData): Promise<{ id: string }>
}

/** The content that the server of the case returns: search results, pages, and the tools of an MCP server. */
export interface SiteContent {
  url?: string
  title?: string
  text?: string
  tool?: { name?: string; description?: string; property?: string; result?: string; isError?: boolean }
}

/** A request in which the gateway adds the canary itself, or the model writes it. */
export interface PlantedTool {
  tools?: object[]
  plugins?: object[]
  /** Content of the user's message: a text, or parts of the Chat format. */
  content?: string | object[]
  /** Call of the model in its first turn: the beginning of the name, and the arguments. */
  call?: { name: string; input: object }
  /** Reply of a model that a tool calls. */
  answer?: string
  site?: SiteContent
}

export interface ToolCase {
  /** Place of the canary, in the words of the page. */
  place: string
  /** The part that the hit of a filter of prompts names. */
  part: 'text' | 'tool' | 'tool-call' | 'tool-result'
  formats: readonly ToolFormat[]
  /** The formats whose replies do not show it to the client. */
  hiddenIn?: readonly ToolFormat[]
  /** The server has it, and may be sent it. */
  isKnownToSite?: true
  /** Needs a sandbox for commands. */
  usesContainer?: true
  plant(canary: string, world: ToolWorld, format: ToolFormat): PlantedTool | Promise<PlantedTool>
}

const service = (name: string, parameters: object = {}) => [{ type: `service:${name}`, parameters }]
const call = (name: string, input: object) => ({ name, input })

const searchCases: ToolCase[] = [
  {
    place: 'result of a web search',
    part: 'tool-result',
    formats: allFormats,
    plant: (canary) => ({
      tools: service('web_search'),
      call: call('web_search', { query: 'tides' }),
      site: { title: `About ${canary}`, text: `The text has ${canary}.`, url: `https://site.test/${canary}` },
    }),
  },
  {
    place: 'query of a web search',
    part: 'tool-call',
    formats: allFormats,
    plant: (canary) => ({
      tools: service('web_search'),
      call: call('web_search', { query: `who is ${canary}` }),
    }),
  },
  {
    place: 'page that is fetched',
    part: 'tool-result',
    formats: allFormats,
    plant: (canary, { origin }) => ({
      tools: service('web_fetch'),
      call: call('web_fetch', { url: `${origin}/page` }),
      site: { title: `About ${canary}`, text: `The page has ${canary}.` },
    }),
  },
  {
    place: 'URL of a page to fetch',
    part: 'tool-call',
    formats: allFormats,
    plant: (canary, { origin }) => ({
      tools: service('web_fetch'),
      call: call('web_fetch', { url: `${origin}/page?for=${canary}` }),
    }),
  },
]

const fileCases: ToolCase[] = [
  {
    place: 'content of a file that the model reads',
    part: 'tool-result',
    formats: ['chat', 'responses'],
    plant: async (canary, { upload }) => {
      const file = new File([`The file has ${canary}.`], 'a.txt', { type: 'text/plain' })
      const { id } = await upload(toForm({ file, purpose: 'user_data' }))
      return { tools: service('files'), call: call('files', { operation: 'read', file_id: id }) }
    },
  },
  {
    place: 'text to find in files',
    part: 'tool-call',
    formats: ['chat', 'responses'],
    plant: (canary) => ({
      tools: service('files'),
      call: call('files', { operation: 'search', query: canary }),
    }),
  },
]

const mcp = ({ origin }: ToolWorld) =>
  service('mcp', { server_label: 'notes', server_url: `${origin}/mcp`, require_approval: 'never' })
const mcpFormats: readonly ToolFormat[] = ['messages', 'responses']

/** A tool of an MCP server, with the canary in one field. */
function mcpCase(
  place: string,
  part: ToolCase['part'],
  plantTool: (canary: string) => SiteContent['tool'],
  more: Pick<ToolCase, 'hiddenIn' | 'isKnownToSite'> = {},
): ToolCase {
  return {
    place,
    part,
    formats: mcpFormats,
    ...more,
    plant: (canary, world) => ({
      tools: mcp(world),
      call: call('notes__', { title: 'a' }),
      site: { tool: plantTool(canary) ?? {} },
    }),
  }
}

const mcpCases: ToolCase[] = [
  mcpCase('name of a tool of an MCP server', 'tool', (name) => ({ name }), { isKnownToSite: true }),
  mcpCase('description of a tool of an MCP server', 'tool', (canary) => ({ description: `For ${canary}.` }), {
    hiddenIn: ['messages'],
  }),
  mcpCase('schema of a tool of an MCP server', 'tool', (canary) => ({ property: `As ${canary}.` }), {
    hiddenIn: ['messages'],
  }),
  mcpCase('result of a tool of an MCP server', 'tool-result', (canary) => ({
    result: `The note has ${canary}.`,
  })),
  mcpCase('error of a tool of an MCP server', 'tool-result', (canary) => ({
    result: `No note ${canary}.`,
    isError: true,
  })),
  {
    place: 'arguments for an MCP server',
    part: 'tool-call',
    formats: mcpFormats,
    plant: (canary, world) => ({ tools: mcp(world), call: call('notes__', { title: canary }) }),
  },
]

const inner = { model: 'test/inner' }
const advisorFor = (format: ToolFormat) =>
  format === 'messages'
    ? [{ type: 'advisor_20260301', name: 'advisor', ...inner }]
    : service('advisor', inner)

const modelCases: ToolCase[] = [
  {
    place: 'answer of a subagent',
    part: 'tool-result',
    formats: ['chat', 'responses'],
    plant: (canary) => ({
      tools: service('subagent', inner),
      call: call('subagent', { task_name: 'a', task_description: 'Find it.' }),
      answer: `I found ${canary}.`,
    }),
  },
  {
    place: 'task of a subagent',
    part: 'tool-call',
    formats: ['chat', 'responses'],
    plant: (canary) => ({
      tools: service('subagent', inner),
      call: call('subagent', { task_name: 'a', task_description: `Find ${canary}.` }),
    }),
  },
  {
    place: 'answer of an advisor',
    part: 'tool-result',
    formats: allFormats,
    plant: (canary, _world, format) => ({
      tools: advisorFor(format),
      call: call('advisor', { prompt: 'What now?' }),
      answer: `Ask ${canary}.`,
    }),
  },
  {
    place: 'question to an advisor',
    part: 'tool-call',
    formats: allFormats,
    plant: (canary, _world, format) => ({
      tools: advisorFor(format),
      call: call('advisor', { prompt: `Who is ${canary}?` }),
    }),
  },
]

const containerCases: ToolCase[] = [
  {
    place: 'output of a command',
    part: 'tool-result',
    formats: ['messages', 'responses'],
    usesContainer: true,
    plant: (canary, _world, format) => {
      // The command itself does not have it.
      const octal = [...canary].map((letter) => `\\${letter.charCodeAt(0).toString(8)}`)
      return plantCommand(format, `printf '${octal.join('')}'`)
    },
  },
  {
    place: 'command',
    part: 'tool-call',
    formats: ['messages', 'responses'],
    usesContainer: true,
    plant: (canary, _world, format) => plantCommand(format, `echo ${canary}`),
  },
]

function plantCommand(format: ToolFormat, command: string): PlantedTool {
  return format === 'messages'
    ? { tools: service('bash', { engine: 'service' }), call: call('bash', { command }) }
    : { tools: service('shell'), call: call('shell', { commands: [command] }) }
}

function buildDocx(text: string): string {
  const xml = `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`
  return toBase64(zipSync({ 'word/document.xml': strToU8(xml) }))
}

const docxType = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'

const pluginCases: ToolCase[] = [
  {
    place: 'result of the plugin web',
    part: 'text',
    formats: allFormats,
    plant: (canary) => ({
      plugins: [{ id: 'web' }],
      site: { title: `About ${canary}`, text: `The text has ${canary}.`, url: `https://site.test/${canary}` },
    }),
  },
  {
    place: 'page of the plugin web-fetch',
    part: 'text',
    formats: allFormats,
    plant: (canary, { origin }) => ({
      plugins: [{ id: 'web-fetch' }],
      content: `Read ${origin}/page`,
      site: { title: `About ${canary}`, text: `The page has ${canary}.` },
    }),
  },
  {
    place: 'document of the plugin file-parser',
    part: 'text',
    formats: ['chat'],
    plant: (canary) => ({
      plugins: [{ id: 'file-parser' }],
      content: [
        { type: 'text', text: 'Read it' },
        {
          type: 'file',
          file: { filename: 'a.docx', file_data: `data:${docxType};base64,${buildDocx(canary)}` },
        },
      ],
    }),
  },
]

/** Cases of what server tools and plugins add to a request, and what the model gives to them. */
export const toolCases: readonly ToolCase[] = [
  ...searchCases,
  ...fileCases,
  ...mcpCases,
  ...modelCases,
  ...containerCases,
  ...pluginCases,
]
