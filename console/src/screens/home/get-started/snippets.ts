export interface SnippetTarget {
  /** The address of the server, with the path prefix of a proxy and without a slash at the end. */
  server: string
  key: string
  model: string
}

interface CodeSample {
  /** The file or the place where the text belongs. */
  title: string
  code: string
}

export interface Snippet {
  id: string
  label: string
  samples: CodeSample[]
  note?: string
}

type WriteSnippet = (target: SnippetTarget) => Snippet

/** Lists the instructions to connect each client to this server. */
export function listSnippets(target: SnippetTarget): Snippet[] {
  return writers.map((write) => write(target))
}

const curl: WriteSnippet = ({ server, key, model }) => ({
  id: 'curl',
  label: 'curl',
  samples: [
    {
      title: 'In a terminal',
      code: `curl ${server}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    },
  ],
})

const openaiPython: WriteSnippet = ({ server, key, model }) => ({
  id: 'openai-python',
  label: 'OpenAI Python',
  samples: [
    {
      title: 'After pip install openai',
      code: `from openai import OpenAI

client = OpenAI(base_url="${server}/v1", api_key="${key}")
completion = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`,
    },
  ],
})

const openaiNode: WriteSnippet = ({ server, key, model }) => ({
  id: 'openai-node',
  label: 'OpenAI Node',
  samples: [
    {
      title: 'After npm install openai',
      code: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${server}/v1', apiKey: '${key}' })
const completion = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(completion.choices[0].message.content)`,
    },
  ],
})

const anthropic: WriteSnippet = ({ server, key, model }) => ({
  id: 'anthropic',
  label: 'Anthropic',
  samples: [
    {
      title: 'After npm install @anthropic-ai/sdk',
      code: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${server}', apiKey: '${key}' })
const message = await client.messages.create({
  model: '${model}',
  max_tokens: 1000,
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(message.content[0].text)`,
    },
    {
      title: 'After pip install anthropic',
      code: `from anthropic import Anthropic

client = Anthropic(base_url="${server}", api_key="${key}")
message = client.messages.create(
    model="${model}",
    max_tokens=1000,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
    },
  ],
  note: 'The base URL has no /v1: the library adds it.',
})

const aiSdk: WriteSnippet = ({ server, key, model }) => ({
  id: 'ai-sdk',
  label: 'AI SDK',
  samples: [
    {
      title: 'After npm install ai @ai-sdk/openai-compatible',
      code: `import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText } from 'ai'

const headgate = createOpenAICompatible({
  name: 'headgate',
  baseURL: '${server}/v1',
  apiKey: '${key}',
})
const { text } = await generateText({ model: headgate('${model}'), prompt: 'Hello' })
console.log(text)`,
    },
  ],
})

const claudeCode: WriteSnippet = ({ server, key, model }) => ({
  id: 'claude-code',
  label: 'Claude Code',
  samples: [
    {
      title: 'In a terminal',
      code: `export ANTHROPIC_BASE_URL=${server}
export ANTHROPIC_AUTH_TOKEN=${key}
claude --model ${model}`,
    },
  ],
  note: 'Any model works, of any provider.',
})

const codex: WriteSnippet = ({ server, key, model }) => ({
  id: 'codex',
  label: 'Codex',
  samples: [
    {
      title: '~/.codex/config.toml',
      code: `model = "${model}"
model_provider = "headgate"

[model_providers.headgate]
name = "Headgate"
base_url = "${server}/v1"
env_key = "HEADGATE_KEY"
wire_api = "responses"`,
    },
    { title: 'In a terminal', code: `export HEADGATE_KEY=${key}\ncodex` },
  ],
})

const opencode: WriteSnippet = ({ server, key, model }) => ({
  id: 'opencode',
  label: 'opencode',
  samples: [
    {
      title: 'opencode.json',
      code: toJson({
        $schema: 'https://opencode.ai/config.json',
        provider: {
          headgate: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Headgate',
            options: { baseURL: `${server}/v1`, apiKey: '{env:HEADGATE_KEY}' },
            models: { [model]: { name: model } },
          },
        },
        model: `headgate/${model}`,
        small_model: `headgate/${model}`,
      }),
    },
    { title: 'In a terminal', code: `export HEADGATE_KEY=${key}\nopencode` },
  ],
  note: 'opencode writes titles with the small model; without it, it asks for one of its own choice.',
})

const geminiCli: WriteSnippet = ({ server, key, model }) => ({
  id: 'gemini-cli',
  label: 'Gemini CLI',
  samples: [
    {
      title: 'In a terminal',
      code: `export GOOGLE_GEMINI_BASE_URL=${server}
export GEMINI_API_KEY=${key}
gemini --model ${model}`,
    },
  ],
  note: 'Choose to sign in with a Gemini API key: with a Google account, the address is ignored.',
})

const cursor: WriteSnippet = ({ server, key, model }) => ({
  id: 'cursor',
  label: 'Cursor',
  samples: [
    { title: 'Settings, Models, OpenAI API Key', code: key },
    { title: 'Override OpenAI Base URL', code: `${server}/v1` },
    { title: 'Add a custom model', code: model },
  ],
  note: 'The servers of Cursor send the requests, so this address must be reachable from the internet.',
})

const zed: WriteSnippet = ({ server, key, model }) => ({
  id: 'zed',
  label: 'Zed',
  samples: [
    {
      title: 'settings.json',
      code: toJson({
        language_models: {
          openai_compatible: {
            Headgate: {
              api_url: `${server}/v1`,
              available_models: [{ name: model, display_name: model, max_tokens: 128000 }],
            },
          },
        },
      }),
    },
    {
      title: 'In a terminal, or paste the key in the agent settings',
      code: `export HEADGATE_API_KEY=${key}\nzed`,
    },
  ],
  note: 'max_tokens is the context length of the model.',
})

const openWebUi: WriteSnippet = ({ server, key }) => ({
  id: 'open-webui',
  label: 'Open WebUI',
  samples: [
    {
      title: 'In a terminal',
      code: `docker run -d -p 3000:8080 --add-host=host.docker.internal:host-gateway \\
  -v open-webui:/app/backend/data \\
  -e OPENAI_API_BASE_URL=${serverFromContainer(server)}/v1 \\
  -e OPENAI_API_KEY=${key} \\
  --name open-webui ghcr.io/open-webui/open-webui:main`,
    },
  ],
  note: isLoopback(server)
    ? 'A container does not reach 127.0.0.1 of its host: start this server with a HOST that the container reaches.'
    : 'In an existing installation: Admin settings, Connections, add an OpenAI connection.',
})

const libreChat: WriteSnippet = ({ server, key, model }) => ({
  id: 'librechat',
  label: 'LibreChat',
  samples: [
    {
      title: 'librechat.yaml',
      code: `version: 1.2.1
endpoints:
  custom:
    - name: "Headgate"
      apiKey: "\${HEADGATE_KEY}"
      baseURL: "${serverFromContainer(server)}/v1"
      models:
        default: ["${model}"]
        fetch: true
      titleConvo: true
      titleModel: "${model}"
      modelDisplayLabel: "Headgate"`,
    },
    { title: '.env', code: `HEADGATE_KEY=${key}` },
  ],
  ...(isLoopback(server) && {
    note: 'If LibreChat runs without containers, write 127.0.0.1 in place of host.docker.internal.',
  }),
})

const writers: WriteSnippet[] = [
  curl,
  openaiPython,
  openaiNode,
  anthropic,
  aiSdk,
  claudeCode,
  codex,
  opencode,
  geminiCli,
  cursor,
  zed,
  openWebUi,
  libreChat,
]

function toJson(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

function isLoopback(server: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(server).hostname)
}

/** The address of the server from within a container, for which loopback is itself. */
function serverFromContainer(server: string): string {
  if (!isLoopback(server)) return server
  const url = new URL(server)
  url.hostname = 'host.docker.internal'
  return url.href.replace(/\/$/, '')
}
