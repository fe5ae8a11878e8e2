import { Alert, List, Stack, Text } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { JsonTree } from '../../components/json-tree.tsx'

interface RefusalProps {
  refusal: NonNullable<Schemas['RequestExplanation']['refusal']>
}

/** The error of a refused request, and what would have let it pass. */
export function Refusal({ refusal: { code, http_status, message, remedies, details } }: RefusalProps) {
  return (
    <Alert color="orange" title={`Refused: ${code} (HTTP ${http_status})`}>
      <Stack gap="xs">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {message}
        </Text>
        {remedies.length > 0 && (
          <>
            <Text size="sm" fw={600}>
              What would have let it through
            </Text>
            <List size="sm">
              {remedies.map((remedy) => (
                <List.Item key={remedy}>{remedy}</List.Item>
              ))}
            </List>
          </>
        )}
        {Object.keys(details).length > 0 && <JsonTree label="Details of the error" value={details} />}
      </Stack>
    </Alert>
  )
}
