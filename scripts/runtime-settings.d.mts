export const runtimeSettings: Record<string, string>
