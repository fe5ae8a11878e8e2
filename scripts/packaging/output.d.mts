export function resolveOutput(root: string, folder: string | undefined): string | null
