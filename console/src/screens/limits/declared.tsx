import { Text } from '@mantine/core'

/** The name of a limit or tier, and that it can only be changed in headgate.yaml. */
export function Declared({ record }: { record: { name: string; source: string } }) {
  return (
    <>
      {record.name}
      {record.source === 'settings' && (
        <Text size="xs" c="dimmed">
          declared in headgate.yaml
        </Text>
      )}
    </>
  )
}
