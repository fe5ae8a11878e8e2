import { Select, Stack, Tabs, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { CodeBlock } from '../../../components/copy.tsx'
import { listSnippets, type Snippet } from './snippets.ts'
import { textModelsOptions } from './use-progress.ts'

const firstModel = 'sandbox/echo'
const placeholder = 'YOUR_KEY'

/** Shows how to connect a client: with the address of this server, and the key if it was just created. */
export function SnippetStep({ secret }: { secret: string | null }) {
  const [model, setModel] = useState(firstModel)
  const models = useQuery(textModelsOptions)
  const ids = (models.data?.data ?? []).map(({ id }) => id)
  const server = new URL('.', document.baseURI).href.replace(/\/$/, '')
  const snippets = listSnippets({ server, key: secret ?? placeholder, model })
  return (
    <Stack>
      <Text size="sm">
        {secret
          ? 'Your key is filled in. It disappears from here when you leave the page.'
          : `Replace ${placeholder} with your key, or create a key above to fill it in.`}
      </Text>
      <Select
        label="Model"
        maw={360}
        searchable
        limit={50}
        allowDeselect={false}
        data={ids.includes(model) ? ids : [model, ...ids]}
        value={model}
        onChange={(value) => setModel(value ?? firstModel)}
      />
      <Tabs defaultValue="curl" keepMounted={false} variant="pills">
        <Tabs.List aria-label="Clients">
          {snippets.map(({ id, label }) => (
            <Tabs.Tab key={id} value={id}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map((snippet) => (
          <Tabs.Panel key={snippet.id} value={snippet.id} pt="md">
            <SnippetView snippet={snippet} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  )
}

function SnippetView({ snippet: { samples, note, label } }: { snippet: Snippet }) {
  return (
    <Stack gap="sm">
      {samples.map(({ title, code }) => (
        <div key={title}>
          <Text size="sm" fw={600} pb={4}>
            {title}
          </Text>
          <CodeBlock code={code} label={`Copy for ${label}: ${title}`} />
        </div>
      ))}
      {note && (
        <Text size="sm" c="dimmed">
          {note}
        </Text>
      )}
    </Stack>
  )
}
