import { Button, Popover, Stack, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { CodeBlock } from '../../components/copy.tsx'
import { encodePrompt, type SharedPrompt } from '../../components/playground-link.ts'

/** A link that opens the playground with the same prompt. */
export function ShareLink({ createPrompt }: { createPrompt: () => SharedPrompt }) {
  return (
    <Popover width={420} position="bottom-end" withArrow shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" size="xs">
          Share
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        <Link createPrompt={createPrompt} />
      </Popover.Dropdown>
    </Popover>
  )
}

function Link({ createPrompt }: { createPrompt: () => SharedPrompt }) {
  const [link, setLink] = useState<string | null | undefined>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the link is made once, when it is shown
  useEffect(() => {
    void encodePrompt(createPrompt()).then((fragment) =>
      setLink(fragment && new URL(`playground#${fragment}`, document.baseURI).href),
    )
  }, [])
  return (
    <Stack gap="xs">
      <Text size="sm">
        The link itself has the models, settings and messages, without attachments and credentials of tools.
        To open it, a person must be signed in here.
      </Text>
      {link && (
        <div style={{ maxHeight: 160, overflow: 'auto' }}>
          <CodeBlock code={link} label="Copy the link" />
        </div>
      )}
      {link === null && <Text size="sm">This conversation is too long for a link.</Text>}
    </Stack>
  )
}
