// The token, for as long as the tab lives and nowhere else.
const key = 'digd.token';

export const token = (): string | null => sessionStorage.getItem(key);
export const setToken = (value: string): void => sessionStorage.setItem(key, value);
export const clearToken = (): void => sessionStorage.removeItem(key);
