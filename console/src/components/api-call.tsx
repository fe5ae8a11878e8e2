import { Button, Popover, Stack, Text } from '@mantine/core'
import { type Call, curlOf } from '../api/call.ts'
import { CodeBlock } from './copy.tsx'
import { TerminalIcon } from './icons.tsx'
import { TextLink } from './text-link.tsx'

/** Shows the calls of the API that a screen makes, as commands. */
export function ApiCalls({ calls }: { calls: Call[] }) {
  return (
    <Popover width={520} position="bottom-end" withArrow shadow="md" trapFocus returnFocus>
      <Popover.Target>
        <Button variant="default" size="xs" leftSection={<TerminalIcon />}>
          API
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        <Stack gap="xs">
          <Text size="sm" c="dimmed">
            With an API key:
          </Text>
          {calls.map((call) => (
            <CallView key={curlOf(call)} call={call} />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}

function CallView({ call }: { call: Call }) {
  const name = `${call.method} ${call.path}`
  return (
    <div>
      <CodeBlock code={curlOf(call)} label="Copy as curl" language="bash" />
      <Text size="xs">
        <TextLink to="/reference" search={{ call: name }} aria-label={`Reference of ${name}`}>
          Reference
        </TextLink>
      </Text>
    </div>
  )
}
